
"use strict";
// The page is whole without this script, which adds search, filters, keys and copying. It makes no
// markup: it hides, opens and copies what is there.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const by = (id) => document.getElementById(id);
  document.documentElement.classList.add("script");

  // ---------------------------------------------------------------- what is searched
  const rules = all("details.rule").map((node) => ({
    node,
    state: node.dataset.state,
    text: "",
    findings: all("li.f", node).map((item) => ({ node: item, text: "" })),
  }));
  const groups = all("section.group").map((node) => ({ node, heading: node.querySelector("h3").firstChild.data.toLowerCase() }));
  let indexed = false;
  function index() {
    if (indexed) return;
    indexed = true;
    for (const group of groups) for (const rule of rules) if (group.node.contains(rule.node)) {
      const own = [rule.node.querySelector("summary"), ...all(":scope > .facts > .why, :scope > .facts > .pairs", rule.node)];
      rule.text = group.heading + " " + own.map((node) => node.textContent).join(" ").toLowerCase();
      for (const finding of rule.findings) finding.text = finding.node.textContent.toLowerCase();
    }
  }

  // ---------------------------------------------------------------- search and filter
  const search = by("search"), states = new Set();
  const count = (number, one) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
  function filter() {
    // Words in any order; "several words" in quotation marks are one.
    const words = (search.value.toLowerCase().match(/"[^"]*"|\S+/g) || [])
      .map((word) => word.replace(/^"(.*)"$/, "$1")).filter(Boolean);
    if (words.length) index();
    const fits = (text) => words.every((word) => text.includes(word));
    let shown = 0, found = 0;
    for (const rule of rules) {
      const wanted = !states.size || states.has(rule.state);
      const whole = wanted && fits(rule.text);
      let some = 0;
      for (const finding of rule.findings) {
        const seen = whole || (wanted && fits(rule.text + " " + finding.text));
        if (finding.node.hidden === seen) finding.node.hidden = !seen;
        some += seen;
      }
      if (rule.node.hidden === (whole || some > 0)) rule.node.hidden = !(whole || some > 0);
      shown += whole || some > 0;
      found += some;
    }
    for (const { node } of groups) node.hidden = !node.querySelector("details.rule:not([hidden])");
    const filtered = words.length > 0 || states.size > 0;
    by("found").textContent = filtered ? `${count(shown, "rule")}, ${count(found, "finding")}` : "";
    by("nothing").hidden = shown > 0 || !rules.length;
  }
  function reset() {
    search.value = "";
    states.clear();
    for (const button of all(".chips button")) button.setAttribute("aria-pressed", "false");
    filter();
  }
  search.addEventListener("input", filter);
  by("clear").addEventListener("click", () => { reset(); search.focus(); });
  for (const button of all(".chips button")) button.addEventListener("click", () => {
    const pressed = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(pressed));
    states[pressed ? "add" : "delete"](button.dataset.state);
    filter();
  });

  // ---------------------------------------------------------------- opening
  const unfold = by("unfold");
  function openAll() {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Close all" : "Open all";
    for (const { node } of rules) if (!node.hidden) node.open = open;
  }
  unfold.addEventListener("click", openAll);
  function goTo(hash) {
    let target = null;
    try { target = hash.length > 1 && by(decodeURIComponent(hash.slice(1))); } catch { return; }
    if (!target || !target.closest("#rules .group")) return;
    if (target.closest("[hidden]")) reset();
    const inner = target.matches("li.f") && target.querySelector(":scope > details");
    if (inner) inner.open = true;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    target.scrollIntoView();
    const handle = target.querySelector("summary");
    if (handle) handle.focus({ preventScroll: true });
  }
  addEventListener("hashchange", () => goTo(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) goTo(link.hash);
  });
  // Whoever prints wants to read what is wrong, not that it can be unfolded.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])").filter((node) => !node.matches(".rule") || node.querySelector("li.f"));
    for (const node of opened) node.open = true;
  });
  addEventListener("afterprint", () => { for (const node of opened) node.open = false; });

  // ---------------------------------------------------------------- copying
  let toasting;
  function say(text) {
    by("toast").textContent = text;
    by("toast").classList.add("on");
    clearTimeout(toasting);
    toasting = setTimeout(() => by("toast").classList.remove("on"), 1800);
  }
  // Pages from disk may have no clipboard interface: the selection can be copied all the same.
  function select(node) {
    const range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const source = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(source.textContent);
      say("Copied");
    } catch {
      say(select(source) ? "Copied" : "Selected: copy it with the keyboard");
    }
  });

  // ---------------------------------------------------------------- keys
  const stops = () => all("details.rule > summary, li.f > details > summary")
    .filter((node) => node.checkVisibility());
  function step(by) {
    const list = stops(), at = list.indexOf(document.activeElement);
    if (!list.length) return;
    const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { reset(); search.blur(); return; }
    if (event.target.closest("input")) return;
    const act = { "/": () => search.focus(), j: () => step(1), k: () => step(-1), o: openAll }[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  filter();
  goTo(location.hash);
})();
