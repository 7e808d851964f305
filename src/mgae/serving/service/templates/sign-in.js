document.getElementById("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = document.getElementById("token").value;
  const message = document.getElementById("message");
  try {
    // In a header, and so in no address, history or log.
    const answer = await fetch("/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    if (answer.ok) location.reload();
    else message.textContent = "That is not the token.";
  } catch {
    message.textContent = "The service does not answer.";
  }
});
