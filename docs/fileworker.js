// The search runs in a Worker, which a page that was opened from the disk may not start:
// there its script runs in an empty frame instead.
window.Worker = class extends EventTarget {
  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inner = frame.contentWindow;
    this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const script = this.inner.document.createElement("script");
    script.src = address;
    this.ready = new Promise((resolve) => (script.onload = resolve));
    this.inner.document.body.append(script);
  }

  postMessage(data) {
    this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
  }
};
