"""The style of HTML pages: light and dark, from phones to wide screens, nothing fetched from anywhere."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #faf9f6; --card: #ffffff; --ink: #1c1e21; --soft: #5f6670; --faint: #686f79; --line: #e4e1da;
  --track: #ecebe6; --bar: #a9b6c4; --best: #0f766e; --whisker: #1c1e21; --chance: #c2410c;
  --good: #0f766e; --good-back: #e0f2ee; --bad: #b42318; --bad-back: #fce9e6;
  --care: #92600a; --care-back: #fbf0d9; --calm: #5f6670; --calm-back: #eeedea; --code: #f2f0eb; --shade: #00000040;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #121417; --card: #1a1d21; --ink: #e9e7e2; --soft: #a4abb5; --faint: #9299a3; --line: #2b2f35;
    --track: #262a30; --bar: #566474; --best: #2dd4bf; --whisker: #f5f3ee; --chance: #fb923c;
    --good: #5eead4; --good-back: #12332f; --bad: #fca5a5; --bad-back: #3b1c1b;
    --care: #fcd34d; --care-back: #362a10; --calm: #a4abb5; --calm-back: #262a30; --code: #16181c; --shade: #ffffff40;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  overflow-wrap: break-word;
}
main, header, footer { max-width: 1080px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 56px; }
h1, h2 { font-family: "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, "DejaVu Serif", serif; }
h1 { font-size: clamp(30px, 5vw, 44px); line-height: 1.12; margin: 0 0 12px; font-weight: 600; letter-spacing: -.01em; }
h2 { font-size: 24px; margin: 56px 0 6px; font-weight: 600; letter-spacing: -.005em; }
p { margin: 0 0 14px; max-width: 70ch; }
.brand { font-weight: 650; letter-spacing: .04em; color: var(--best); margin: 0 0 10px; font-size: 14px; }
.lead, .hint { color: var(--soft); }
.lead { font-size: 17px; } .hint { font-size: 13.5px; max-width: none; margin-top: 16px; }
code, pre, .label, .num { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.num { font-size: 13.5px; font-variant-numeric: tabular-nums; white-space: nowrap; }
.about dl { font-size: 13.5px; color: var(--soft); gap: 2px 16px; margin: 18px 0 0; }
.about dt { color: var(--soft); } .about dd { color: var(--ink); }
.findings { list-style: none; margin: 28px 0 0; padding: 4px 0 4px 20px; border-left: 3px solid var(--best); }
.findings li { max-width: 72ch; margin: 0 0 10px; font-size: 17px; }
.findings li:last-child { margin-bottom: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 470px), 1fr)); gap: 16px; }
.cards, .tiles { margin-top: 18px; }
.card, .tiles div { background: var(--card); border: 1px solid var(--line); border-radius: 12px; min-width: 0; }
.card { padding: 16px 18px 14px; }
.card h3 { margin: 0; font-size: 15px; display: flex; gap: 10px; align-items: baseline; }
.card h3 .label { flex: 1; overflow-wrap: anywhere; }
.card h3 small { font-weight: 400; color: var(--faint); font-size: 12.5px; white-space: nowrap; }
.card p { color: var(--soft); font-size: 13.5px; line-height: 1.4; margin: 2px 0 10px; min-height: 2.8em; }
.card table { width: 100%; border-collapse: collapse; }
.card th, .card td { padding: 3px 0; font-weight: 400; text-align: left; vertical-align: middle; }
.card th { width: 6.6em; max-width: 9em; padding-right: 10px; font-size: 14px; }
.card th { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.card td.num { width: 9.6em; text-align: right; padding-left: 10px; }
.card td.num small { color: var(--faint); font-size: 12px; }
.card td.sign { width: 1.3em; text-align: right; font-size: 12px; }
.best th, .best .num b { font-weight: 650; }
.chance th, .chance .num { color: var(--chance); }
svg.plot { display: block; overflow: visible; }
.plot .track { fill: var(--track); } .plot .bar { fill: var(--bar); } .best .plot .bar { fill: var(--best); }
.plot .whisker { stroke: var(--whisker); stroke-width: 1.5; }
.plot .bychance { stroke: var(--chance); stroke-width: 1.5; stroke-dasharray: 3 2; }
.up { color: var(--good); } .down { color: var(--bad); } .other { color: var(--faint); }
.wide { overflow-x: auto; margin: 14px 0 0; } .wide .num { font-size: 13px; }
.wide table { border-collapse: collapse; width: 100%; font-size: 14.5px; }
.wide th, .wide td { padding: 8px 14px 8px 0; text-align: left; vertical-align: top; }
.wide th, .wide td { border-bottom: 1px solid var(--line); }
.wide thead th { color: var(--soft); font-weight: 550; font-size: 13px; white-space: nowrap; }
.wide tr:last-child td, .wide tr:last-child th { border-bottom: 0; }
.wide td:first-child { white-space: nowrap; } .wide th:last-child, .wide td:last-child { padding-right: 0; }
.wide td:last-child { min-width: 5.8em; }
.wide td.plotted { min-width: 140px; width: 26%; vertical-align: middle; }
/* a shadow at the side where there is more to scroll to; at the end, paper moves over it */
.wide, .drawing {
  background:
    linear-gradient(to right, var(--paper) 40%, transparent) left / 32px 100% no-repeat local,
    linear-gradient(to left, var(--paper) 40%, transparent) right / 32px 100% no-repeat local,
    radial-gradient(farthest-side at 0 50%, var(--shade), transparent) left / 12px 100% no-repeat scroll,
    radial-gradient(farthest-side at 100% 50%, var(--shade), transparent) right / 12px 100% no-repeat scroll;
}
.wide:focus-visible, .drawing:focus-visible, pre:focus-visible { outline: 2px solid var(--best); outline-offset: 2px; }
figure { margin: 26px 0 0; } .drawing { overflow-x: auto; } .drawing svg { display: block; min-width: 460px; }
@media (min-width: 900px) {
  figure {
    display: grid; grid-template-columns: minmax(0, 640px) minmax(0, 1fr); grid-template-rows: repeat(3, auto) 1fr;
    column-gap: 28px; align-items: start;
  }
  figure > * { grid-column: 2; } figure > h3 { grid-column: 1 / 3; } figure > .drawing { grid-area: 2 / 1 / 5 / 2; }
  figcaption { order: -1; margin-top: 0; } figure > h3 { order: -2; }
}
figure h3 { margin: 0 0 8px; font-size: 16px; font-weight: 600; overflow-wrap: anywhere; }
figcaption { color: var(--soft); font-size: 13.5px; margin-top: 6px; max-width: 80ch; }
details.data { margin-top: 6px; border-top: 0; padding-top: 0; } details.data summary { font-size: 13.5px; }
.tools { margin: 6px 0 0; }
.tools button {
  font: inherit; font-size: 12.5px; color: var(--soft); background: none; border: 1px solid var(--line);
  border-radius: 6px; padding: 2px 9px; cursor: pointer;
}
.tools button:hover { color: var(--ink); border-color: var(--soft); }
button.sort { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
button.sort:hover { color: var(--ink); }
button.sort::after { content: " ↕"; color: var(--faint); opacity: .55; }
[aria-sort=ascending] button.sort::after { content: " ↑"; opacity: 1; }
[aria-sort=descending] button.sort::after { content: " ↓"; opacity: 1; }
.option { white-space: nowrap; }
.chip { display: inline-block; border-radius: 99px; padding: 1px 9px; font-size: 12.5px; white-space: nowrap; }
.good { color: var(--good); background: var(--good-back); } .bad { color: var(--bad); background: var(--bad-back); }
.care { color: var(--care); background: var(--care-back); } .calm { color: var(--calm); background: var(--calm-back); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; }
.tiles div { padding: 12px 16px; }
.tiles b { display: block; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.25; }
.tiles span { color: var(--soft); font-size: 13px; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 12px; padding: 16px 18px; margin: 14px 0 0;
  overflow-x: auto; font-size: 13.5px; line-height: 1.6; }
details { margin-top: 16px; border-top: 1px solid var(--line); padding-top: 12px; }
summary { cursor: pointer; color: var(--soft); font-size: 14.5px; }
summary:hover { color: var(--ink); }
.warn { color: var(--care); font-size: 13.5px; }
footer { color: var(--soft); font-size: 13.5px; padding-top: 48px; padding-bottom: 64px; }
footer h2 { font-size: 18px; color: var(--ink); margin: 0 0 10px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 0 0 24px; }
dt { color: var(--ink); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 600px) {
  main, header, footer { padding-left: 16px; padding-right: 16px; }
  header { padding-top: 32px; }
  .findings { padding-left: 14px; } .findings li { font-size: 16px; }
  .card { padding: 14px 14px 12px; } .card p { min-height: 0; }
  .wide td.plotted { min-width: 100px; }
  .card th { width: 5.4em; padding-right: 8px; } .card td.num { width: 8.6em; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 10px; }
}
@media print {
  :root { color-scheme: light; }
  body { font-size: 11pt; background: #fff; } main, header, footer { max-width: none; padding: 0; }
  .cards { grid-template-columns: 1fr 1fr; gap: 8px; } .card { padding: 8px 10px; } .card p { min-height: 0; }
  .card th { font-size: 8.5pt; width: 6em; } .card td.num { font-size: 8pt; width: 8em; }
  .card td.num small { font-size: 7pt; } .card h3 { font-size: 9.5pt; }
  .findings li { font-size: 11pt; } h2 { margin-top: 24px; } figure { margin-top: 14px; }
  .card, .tiles div, figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }
  .tools, details.data, button.sort::after { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; } summary { list-style: none; }
  .wide, .drawing { overflow: visible; background: none; }
  .wide table { font-size: 8pt; } .wide th, .wide td { padding: 3px 6px 3px 0; }
  .wide .num, .wide thead th { font-size: 7.5pt; white-space: normal; overflow-wrap: anywhere; }
}
"""
