// Makes searching, rating and switching between lists quicker. Everything works without it, by plain forms.
"use strict";
(() => {
  const byScript = { "X-Study": "script" };

  function fields(form, button) {
    const sent = new URLSearchParams(new FormData(form));
    if (button) sent.set(button.name, button.value);
    return sent;
  }

  // Where anything goes wrong, the form is sent as it would be without a script: the server says what is the matter.
  function plainly(form, button) {
    form.dataset.plain = "yes";
    setTimeout(() => form.requestSubmit(button)); // not while the event that failed is still under way
  }

  async function post(address, form, button) {
    const answer = await fetch(address, { method: "POST", headers: byScript, body: fields(form, button), redirect: "error" });
    if (!answer.ok) throw new Error(answer.status);
    return answer;
  }

  // ---- search while typing
  const search = document.querySelector("form[data-find]");
  if (search) {
    const query = search.querySelector("input[type=search]");
    const found = document.getElementById("found");
    let waiting, last = query.defaultValue;
    const look = () => {
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        const asked = query.value;
        if (asked === last) return;
        last = asked;
        try {
          const answer = await fetch(search.dataset.find + "?" + new URLSearchParams({ q: asked }), { headers: byScript });
          if (answer.ok && asked === query.value) {
            found.innerHTML = await answer.text();
            document.getElementById("asked").value = asked;
          }
        } catch { /* the button still searches */ }
      }, 180);
    };
    query.addEventListener("input", look);
    look(); // for what was typed before this script was there
  }

  // ---- rate without leaving the page
  for (const form of document.querySelectorAll("form[data-rate]")) {
    form.addEventListener("submit", async (event) => {
      const button = event.submitter;
      if (form.dataset.plain || !button || button.name !== "rate") return;
      event.preventDefault();
      const row = button.closest("li"), place = [...row.querySelectorAll("button")].indexOf(button);
      try {
        const answer = await (await post(form.action, form, button)).json();
        for (const shown of document.querySelectorAll(`[data-item="${row.dataset.item}"]`)) {
          const holder = document.createElement("ul");
          holder.innerHTML = answer.row;
          const made = holder.firstElementChild, focused = shown.contains(document.activeElement);
          made.id = shown.id;
          shown.replaceWith(made);
          const buttons = made.querySelectorAll("button");
          if (focused) (buttons[place] || buttons[0]).focus();
        }
        const count = document.getElementById("count");
        count.textContent = answer.count;
        count.className = answer.enough ? "enough" : "";
        if (answer.enough) document.querySelector(".problem")?.remove();
        const mine = document.getElementById("mine"), open = mine.querySelector("details")?.open;
        mine.innerHTML = answer.mine;
        if (open && mine.firstElementChild) mine.firstElementChild.open = true;
      } catch { plainly(form, button); }
    });
  }

  // ---- switch between lists
  const rank = document.getElementById("rank");
  if (rank) {
    const panel = document.getElementById("panel");
    rank.addEventListener("submit", async (event) => {
      const button = event.submitter;
      if (rank.dataset.plain || !button || button.name !== "show") return;
      event.preventDefault();
      try {
        panel.innerHTML = await (await post(rank.dataset.view, rank, button)).text();
        document.getElementById("in-view").value = button.value;
        for (const tab of rank.querySelectorAll("button[name=show]")) tab.setAttribute("aria-pressed", String(tab === button));
      } catch { plainly(rank, button); }
    });
  }

  // ---- a second click takes a mark back
  for (const choice of document.querySelectorAll(".marks input")) {
    choice.addEventListener("click", () => {
      if (choice.dataset.was) { choice.checked = false; delete choice.dataset.was; }
      else {
        for (const other of document.getElementsByName(choice.name)) delete other.dataset.was;
        choice.dataset.was = "yes";
      }
    });
  }
})();
