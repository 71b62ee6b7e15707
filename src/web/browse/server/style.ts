import { createPageFile } from '../../shared/page-files.ts';
import { colors } from '../../shared/style.ts';

const css = `${colors}
:root {
  --edge: light-dark(#85878c, #74787f);
  --good: light-dark(#1d6b32, #86d39b);
  --shade: light-dark(#e9e9e5, #24262b);
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html, body, #gallery { height: 100%; margin: 0; }
body { background: var(--ground); color: var(--text); font: 0.9375rem/1.45 system-ui, sans-serif; }
button, input, select, textarea { font: inherit; color: inherit; }
button, select, input, textarea {
  border: 1px solid var(--edge);
  border-radius: 0.4rem;
  background: var(--panel);
  padding: 0.35rem 0.6rem;
  min-height: 2.1rem;
}
button { cursor: pointer; }
a { color: var(--accent); }
button:hover:not(:disabled) { background: var(--chosen); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.app { height: 100%; display: flex; flex-direction: column; }
header { display: flex; flex-wrap: wrap; gap: 0.4rem; align-items: center; padding: 0.6rem 0.9rem; font-size: 0.875rem; background: var(--panel); border-bottom: 1px solid var(--line); }
h1 { font-size: 1rem; margin: 0 0.5rem 0 0; overflow-wrap: anywhere; }
header input[type='search'] { flex: 1 1 8rem; min-width: 7rem; }
header input[name='tag'] { width: 5rem; }
header input[type='date'] { width: 8.6rem; }
header select { width: 7.8rem; }
header .order { width: 8.4rem; }
.field { display: inline-flex; align-items: center; gap: 0.35rem; color: var(--quiet); }
.middle { position: relative; flex: 1; display: grid; grid-template-columns: 15rem 1fr; grid-template-rows: minmax(0, 1fr); min-height: 0; }
.sides { overflow: auto; border-right: 1px solid var(--line); padding: 0.6rem; background: var(--panel); }
.sides h2 { margin: 0.2rem 0.5rem 0.4rem; font-size: 0.8rem; color: var(--quiet); }
.sides ul { list-style: none; margin: 0; padding: 0 0 0 0.8rem; }
.sides > nav > ul { padding: 0; }
.folder { display: block; width: 100%; text-align: left; border-color: transparent; background: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.folder[aria-current='true'] { background: var(--chosen); font-weight: 600; }
.folder.over { outline: 2px dashed var(--accent); outline-offset: -2px; }
main { position: relative; min-height: 0; min-width: 0; display: flex; flex-direction: column; }
.places { display: flex; flex-wrap: wrap; gap: 0.4rem 0.6rem; align-items: center; padding: 0.5rem 0.9rem 0; font-size: 0.875rem; }
.crumbs { display: flex; flex-wrap: wrap; align-items: center; color: var(--quiet); }
.crumbs button { border-color: transparent; background: none; padding: 0.2rem 0.4rem; min-height: 0; }
.crumbs button[aria-current='true'] { font-weight: 600; color: var(--text); }
.scope { color: var(--quiet); }
.chip { display: inline-flex; align-items: center; gap: 0.2rem; padding: 0.1rem 0.2rem 0.1rem 0.7rem; border-radius: 1rem; background: var(--chosen); }
.chip button { border-color: transparent; background: none; padding: 0 0.4rem; min-height: 1.5rem; }
.subfolders { display: flex; flex-wrap: wrap; gap: 0.5rem; width: 100%; max-height: 7.5rem; overflow: auto; margin: 0; padding: 0; list-style: none; }
.subfolders button { padding: 0.6rem 1rem; min-width: 9rem; text-align: left; font-weight: 600; background: var(--panel); border-color: var(--line); }
.shelf { flex: 1; min-height: 0; overflow-y: auto; position: relative; overscroll-behavior: contain; }
.rows { position: relative; margin: 0.9rem; padding: 0; list-style: none; }
.card { position: absolute; contain: layout style; display: block; border-radius: 0.6rem; cursor: default; user-select: none; }
.thing .picture { border-radius: 0.6rem; border: 1px solid var(--line); }
.thing:hover .picture { border-color: var(--edge); }
.thing:focus-visible { outline: none; }
.thing[aria-selected='true'] .picture { outline: 2px solid var(--accent); outline-offset: 2px; }
.thing:focus-visible .picture { outline: 3px solid var(--accent); outline-offset: 2px; }
.mark { position: absolute; left: 0.4rem; top: 0.4rem; width: 1.25rem; height: 1.25rem; border: 2px solid #fff; border-radius: 0.35rem; background: #000a; opacity: 0; }
.thing:hover .mark, .thing:focus-visible .mark, .thing[aria-selected='true'] .mark { opacity: 1; }
.thing[aria-selected='true'] .mark { background: var(--accent) url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M3 8.5l3.2 3.2L13 5' fill='none' stroke='%23fff' stroke-width='2.4'/%3E%3C/svg%3E") center / 90% no-repeat; border-color: var(--panel); }
.box { position: absolute; z-index: 2; border: 1px solid var(--accent); background: color-mix(in srgb, var(--accent) 15%, transparent); pointer-events: none; }
.selection { display: flex; flex-wrap: wrap; gap: 0.4rem 0.7rem; align-items: center; padding: 0.5rem 0.9rem; border-top: 1px solid var(--line); background: var(--chosen); font-size: 0.875rem; }
.selection .actions { display: flex; flex-wrap: wrap; gap: 0.4rem; margin-left: auto; }
.primary { background: var(--accent); border-color: var(--accent); color: var(--panel); font-weight: 600; }
.primary:hover:not(:disabled) { background: var(--accent); filter: brightness(1.1); }
button:disabled { opacity: 0.55; cursor: default; }
h1 small { display: block; font-size: 0.75rem; font-weight: 400; color: var(--quiet); }
.picture { display: block; position: relative; aspect-ratio: 16 / 9; background: var(--shade); overflow: hidden; }
.picture img, .picture .frame { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }
.picture .kind { position: absolute; inset: 0; display: grid; place-content: center; justify-items: center; gap: 0.3rem; color: var(--quiet); font-size: 0.85rem; overflow-wrap: anywhere; }
.kind svg { width: 2.2rem; height: 2.2rem; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }
.badge { position: absolute; right: 0.35rem; bottom: 0.35rem; padding: 0 0.35rem; border-radius: 0.3rem; background: #000c; color: #fff; font-size: 0.75rem; font-variant-numeric: tabular-nums; }
.badge.state { left: 0.35rem; right: auto; max-width: calc(100% - 4.5rem); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.badge.failed { background: #8c1209; }
.card .name { display: flex; margin: 0.45rem 0.15rem 0; line-height: 1.4; font-size: 0.875rem; font-weight: 600; white-space: nowrap; }
.name .start { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: pre; }
.name .end { flex: none; white-space: pre; }
.card .tags { display: flex; gap: 0.3rem; height: 1.5rem; margin: 0.2rem 0.15rem 0; overflow: hidden; }
.tag { padding: 0 0.4rem; border-radius: 0.3rem; background: var(--shade); color: var(--quiet); font-size: 0.75rem; line-height: 1.4rem; white-space: nowrap; }
.card .more { display: block; padding: 0 0.15rem; color: var(--quiet); font-size: 0.8rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.gone { margin: 0; padding: 0.6rem 0.9rem; background: var(--panel); border-bottom: 1px solid var(--line); }
.empty { padding: 3rem 1rem; text-align: center; color: var(--quiet); }
.empty code { color: var(--text); }
footer { display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; padding: 0.4rem 0.9rem; border-top: 1px solid var(--line); background: var(--panel); color: var(--quiet); font-size: 0.8rem; }
footer .waiting, .problem { color: var(--alarm); }
footer .waiting { font-size: 1rem; }
.message, .problem { overflow-wrap: anywhere; }
dialog { margin-top: 1rem; width: min(96rem, 100vw - 2rem); max-height: calc(100vh - 2rem); padding: 0; border: 1px solid var(--line); border-radius: 0.8rem; background: var(--panel); color: var(--text); overflow: auto; }
dialog::backdrop { background: #000a; }
.bar { position: sticky; top: 0; z-index: 1; display: flex; gap: 0.4rem; align-items: center; padding: 0.5rem 0.8rem; background: var(--panel); border-bottom: 1px solid var(--line); }
.bar h2 { flex: 1; margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
.detail { display: grid; grid-template-columns: minmax(0, 1fr) 20rem; }
.bar h2:focus { outline: none; }
.facts .problem { display: block; }
.player { position: relative; min-height: min(34rem, 60vh); background: var(--ground); }
.detail iframe { position: absolute; inset: 0; width: 100%; height: 100%; border: 0; }
.coming { position: absolute; inset: 0; z-index: 1; pointer-events: none; display: grid; place-items: center; }
.coming .picture { width: 100%; opacity: 0.5; }
.coming > * { grid-area: 1 / 1; }
.spinner { width: 2.5rem; height: 2.5rem; border: 4px solid var(--line); border-top-color: var(--accent); border-radius: 50%; }
@keyframes spin { to { rotate: 1turn; } }
.facts { padding: 0.8rem; border-left: 1px solid var(--line); }
.facts, .fields { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.7rem; align-content: start; }
.fields { min-width: 0; margin: 0; padding: 0; border: 0; }
.facts .field { display: grid; gap: 0.15rem; color: var(--quiet); font-size: 0.8rem; }
.facts input, .facts textarea, .facts select { width: 100%; font-size: 0.9375rem; color: var(--text); }
.facts textarea { min-height: 5rem; resize: vertical; }
.facts dl { display: grid; grid-template-columns: auto 1fr; gap: 0.15rem 0.7rem; margin: 0; font-size: 0.85rem; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.command { display: flex; gap: 0.4rem; align-items: center; font-size: 0.8rem; }
.command input { flex: 1; min-width: 0; font: 0.8rem ui-monospace, monospace; background: var(--shade); border-color: transparent; }
.ask { min-width: 0; margin: 0; border: 1px solid var(--alarm); border-radius: 0.5rem; padding: 0.6rem; display: grid; gap: 0.5rem; }
.ask legend { float: left; width: 100%; padding: 0; }
.ask div { clear: both; flex-wrap: wrap; display: flex; gap: 0.5rem; }
.tray { position: fixed; right: 1rem; bottom: 3rem; width: min(24rem, 100vw - 2rem); max-height: 50vh; overflow: auto; background: var(--panel); border: 1px solid var(--edge); border-radius: 0.7rem; padding: 0.6rem 0.8rem; box-shadow: 0 6px 24px #0004; }
.tray summary { cursor: pointer; font-size: 0.9rem; font-weight: 600; }
.tray ul { list-style: none; margin: 0.6rem 0; padding: 0; display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.5rem; font-size: 0.85rem; }
.tray .file { display: flex; gap: 0.5rem; align-items: baseline; }
.tray .file button { min-height: 0; padding: 0 0.5rem; }
.tray .file span:first-child { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tray progress { width: 100%; height: 0.4rem; accent-color: var(--accent); }
.tray .uploaded { color: var(--good); }
.drop { position: absolute; inset: 0.7rem; display: grid; place-items: center; border: 3px dashed var(--accent); border-radius: 1rem; background: color-mix(in srgb, var(--ground) 96%, transparent); font-size: 1.2rem; pointer-events: none; z-index: 3; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.opener { display: none; }
@media (max-width: 48rem) {
  .middle { grid-template-columns: 1fr; }
  .sides { display: none; border-right: 0; }
  .opener { display: inline-block; }
  .sides.open { display: block; position: absolute; z-index: 2; inset: 0; }
  .filters:not(.open) { display: none; }
  .detail { grid-template-columns: 1fr; }
  .player { min-height: 18rem; }
  .facts { border-left: 0; border-top: 1px solid var(--line); }
  dialog { margin-top: 0; width: 100vw; max-width: 100vw; max-height: 100vh; height: 100vh; border-radius: 0; border: 0; }
}
.filters { display: contents; }
@media (max-width: 48rem) { .filters.open { display: flex; flex-wrap: wrap; gap: 0.5rem; width: 100%; } }
@media (pointer: coarse) { button, select, input { min-height: 2.75rem; } .mark { opacity: 1; width: 1.75rem; height: 1.75rem; } }
@media (prefers-reduced-motion: no-preference) { .mark { transition: opacity 0.1s; } .spinner { animation: spin 1s linear infinite; } }
`;

/** Style sheet of the gallery. The browser's preference selects the light or dark theme. */
export const createGalleryStyle = () => createPageFile('browse.css', css);
