"""``make bench``: run every benchmark and print what it measured."""

from __future__ import annotations

from benchmarks import epoch, startup


def main() -> None:
    for title, measure in {
        "training epoch on Cora": epoch.measure,
        "start-up of mgae --help": startup.measure,
    }.items():
        print(title)
        for name, value in measure().items():
            print(f"  {name:14} {value:8.2f}")


if __name__ == "__main__":
    main()
