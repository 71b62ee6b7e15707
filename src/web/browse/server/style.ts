import { createPageFile } from '../../shared/page-files.ts';
import { colors } from '../../shared/style.ts';

const css = `${colors}
:root {
  --edge: light-dark(#85878c, #74787f);
  --good: light-dark(#12743f, #63d297);
  --shade: light-dark(#ecedf1, #24262d);
  --shadow: 0 1px 2px #0000000d, 0 12px 40px -8px light-dark(#1a1c3a38, #000c);
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html, body, #gallery { height: 100%; margin: 0; }
body { background: var(--ground); color: var(--text); font: 0.875rem/1.45 system-ui, sans-serif; }
button, input, select, textarea { font: inherit; color: inherit; }
button, select, input, textarea {
  border: 1px solid var(--edge);
  border-radius: 0.45rem;
  background: var(--panel);
  padding: 0.3rem 0.7rem;
  min-height: 2.1rem;
}
button { cursor: pointer; border-color: var(--line); }
button:has(> .icon) { display: inline-flex; align-items: center; gap: 0.4rem; }
.icon { flex: none; width: 1.15rem; height: 1.15rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
a { color: var(--accent); }
button:hover:not(:disabled) { background: var(--chosen); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.app { height: 100%; display: grid; grid-template: minmax(0, 1fr) / 15.5rem minmax(0, 1fr); position: relative; }
.content { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
header { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; padding: 0.75rem 1rem 0.6rem; border-bottom: 1px solid var(--line); }
header input[type='search'] { flex: 0 1 19rem; min-width: 9rem; }
.crumbs { display: flex; flex-wrap: wrap; flex: 1 1 12rem; align-items: center; min-width: 0; font-size: 1rem; color: var(--quiet); overflow-wrap: anywhere; }
.crumbs button { border-color: transparent; background: none; padding: 0.1rem 0.3rem; min-height: 0; text-align: start; }
.crumbs button[aria-current='true'] { font-weight: 600; color: var(--text); }
.filters { display: flex; flex-wrap: wrap; gap: 0.5rem 0.75rem; align-items: center; width: 100%; }
.chips { min-width: 0; margin: 0; padding: 0; border: 0; display: flex; flex: 1; flex-wrap: wrap; gap: 0.4rem; align-items: center; }
.chip { display: inline-flex; align-items: center; border-radius: 1.2rem; }
.chip > button { min-height: 1.9rem; padding: 0.1rem 0.75rem; border-radius: 1.2rem; }
.chip:not(.set) > button { background: none; color: var(--quiet); }
.chip > button > span { margin-right: 0.15rem; color: var(--quiet); }
.chip.set { background: var(--chosen); }
.chip.set > button { border-color: transparent; background: none; font-weight: 400; }
.chip.set > button + button { min-width: 1.75rem; padding: 0 0.4rem 0 0; }
.chips > button { border-color: transparent; background: none; color: var(--accent); padding-inline: 0.4rem; }
.count { color: var(--quiet); white-space: nowrap; }
.field { display: inline-flex; align-items: center; gap: 0.35rem; color: var(--quiet); }
.sides { display: flex; flex-direction: column; overflow: auto; border-right: 1px solid var(--line); padding: 0.9rem 0.6rem; background: var(--panel); }
.account { margin: 0 0.5rem 0.9rem; font-size: 0.9375rem; line-height: 1.3; overflow-wrap: anywhere; }
.account small { display: block; font-size: 0.78rem; font-weight: 400; color: var(--quiet); }
.sides h2 { margin: 1rem 0.5rem 0.3rem; font-size: 0.78rem; color: var(--quiet); }
.sides ul { list-style: none; margin: 0; padding: 0 0 0 0.9rem; }
.sides nav > ul { padding: 0; }
.sides li { position: relative; }
.fold { position: absolute; left: -0.9rem; top: 0.3rem; width: 1.5rem; min-height: 1.5rem; height: 1.5rem; padding: 0; border: 0; background: none; color: var(--quiet); }
.fold .icon { width: 0.9rem; height: 0.9rem; }
.fold:has(+ [aria-expanded='true']) .icon { rotate: 90deg; }
.place { display: flex; align-items: center; gap: 0.5rem; width: 100%; text-align: start; border-color: transparent; background: none; font-weight: 400; }
.place .icon { color: var(--quiet); }
.place span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.place[aria-current='true'] { background: var(--chosen); font-weight: 600; }
.place[aria-current='true'] .icon { color: var(--accent); }
.place.over { outline: 2px dashed var(--accent); outline-offset: -2px; }
.budget { margin: auto 0.5rem 0; padding-top: 1rem; font-size: 0.78rem; color: var(--quiet); }
.budget b { color: var(--text); }
meter { background: var(--shade); display: block; width: 100%; height: 0.75rem; }
main { position: relative; flex: 1; min-height: 0; min-width: 0; display: flex; flex-direction: column; }
.surroundings { display: grid; gap: 0.6rem; padding: 0.8rem 1rem 0; }
.scope { color: var(--quiet); }
.subfolders { display: flex; flex-wrap: wrap; gap: 0.6rem; max-height: 7.5rem; overflow: auto; margin: 0; padding: 0; list-style: none; }
.subfolders button { padding: 0.7rem 1rem; min-width: 11rem; text-align: start; border-radius: 0.5rem; }
.subfolders .icon { color: var(--accent); }
.shelf, .sides { scrollbar-color: var(--edge) transparent; }
.shelf { flex: 1; min-height: 0; overflow-y: auto; position: relative; overscroll-behavior: contain; }
.rows { position: relative; margin: 16px 16px 6rem; padding: 0; list-style: none; }
.card { position: absolute; contain: layout style; display: block; color: inherit; text-decoration: none; border-radius: 0.6rem; cursor: default; user-select: none; }
.thing .picture { border-radius: 0.6rem; border: 1px solid var(--line); }
.thing:hover .picture { border-color: var(--edge); }
.thing:focus-visible { outline: none; }
.thing[aria-selected='true'] .picture { outline: 2px solid var(--accent); outline-offset: 2px; }
.thing:focus-visible .picture { outline: 3px solid var(--accent); outline-offset: 2px; }
.mark { position: absolute; left: 0.4rem; top: 0.4rem; width: 1.25rem; height: 1.25rem; border: 2px solid #fff; border-radius: 0.35rem; background: #000a; opacity: 0; }
.thing:hover .mark, .thing:focus-visible .mark, .thing[aria-selected='true'] .mark { opacity: 1; }
.thing[aria-selected='true'] .mark { background: var(--accent) url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M3 8.5l3.2 3.2L13 5' fill='none' stroke='%23fff' stroke-width='2.4'/%3E%3C/svg%3E") center / 90% no-repeat; border-color: var(--panel); }
.box { position: absolute; z-index: 2; border: 1px solid var(--accent); background: color-mix(in srgb, var(--accent) 15%, transparent); pointer-events: none; }
.float { position: absolute; z-index: 2; inset: auto 1.2rem 1.2rem; display: grid; gap: 0.6rem; justify-items: center; pointer-events: none; }
.float > * { pointer-events: auto; }
.notices { display: grid; gap: 0.4rem; justify-items: start; justify-self: start; }
.notice { padding: 0.5rem 0.9rem; border: 1px solid var(--line); border-radius: 0.6rem; background: var(--panel); box-shadow: var(--shadow); overflow-wrap: anywhere; }
.notice button { margin: -0.3rem -0.5rem -0.3rem 0.3rem; border-color: transparent; background: none; }
.selection { color-scheme: dark; display: flex; flex-wrap: wrap; gap: 0.3rem 0.6rem; align-items: center; padding: 0.5rem 0.6rem 0.5rem 1rem; border-radius: 0.9rem; background: #262833; color: var(--text); box-shadow: var(--shadow); }
.selection .hint { color: var(--quiet); }
.selection .actions { display: flex; flex-wrap: wrap; gap: 0.3rem; }
.selection button:not(.primary) { border-color: transparent; background: none; }
.selection button:not(.primary, :disabled):hover { background: var(--chosen); }
.primary { background: var(--accent); border-color: var(--accent); color: var(--panel); font-weight: 600; }
.primary:hover:not(:disabled) { background: var(--accent); filter: brightness(1.1); }
button:disabled { opacity: 0.55; cursor: default; }
.picture { display: block; position: relative; aspect-ratio: 16 / 9; background: var(--shade); overflow: hidden; }
.picture img, .picture .frame { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; }
.picture .kind { position: absolute; inset: 0; display: grid; place-content: center; justify-items: center; gap: 0.3rem; color: var(--quiet); font-size: 0.85rem; overflow-wrap: anywhere; }
.kind .icon { width: 2.2rem; height: 2.2rem; stroke-width: 1.5; }
.badge { position: absolute; right: 0.35rem; bottom: 0.35rem; padding: 0 0.35rem; border-radius: 0.3rem; background: #000c; color: #fff; font-size: 0.75rem; font-variant-numeric: tabular-nums; }
.badge.state { left: 0.35rem; right: auto; max-width: calc(100% - 4.5rem); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.badge.failed { background: #8c1209; }
.card .name { display: flex; margin: 0.45rem 0.15rem 0; line-height: 1.4; white-space: nowrap; }
.thing[aria-selected='true'] .name { font-weight: 600; }
.name .start { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: pre; }
.name .end { flex: none; white-space: pre; }
/* Tags are beside the facts, so that no row is taller for tags that are not there. */
.card .more { display: block; padding: 0 0.15rem; color: var(--quiet); font-size: 0.8rem; line-height: 1.3rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tag { display: inline-block; margin-left: 0.35rem; padding: 0 0.4rem; border-radius: 0.3rem; background: var(--shade); font-size: 0.75rem; }
.broken img { opacity: 0.35; }
.density { display: flex; margin: 0; padding: 0; border: 0; }
.density .act { border-radius: 0; }
.density .act:first-of-type { border-radius: 0.45rem 0 0 0.45rem; }
.density .act:last-child { border-radius: 0 0.45rem 0.45rem 0; }
.act { display: inline-flex; align-items: center; justify-content: center; min-width: 2.1rem; min-height: 2.1rem; padding: 0.3rem; border: 1px solid var(--line); border-radius: 0.45rem; color: var(--text); }
.act:hover { background: var(--chosen); }
.act[aria-pressed='true'] { background: var(--chosen); color: var(--accent); }
.dragged { position: absolute; top: -10rem; padding: 0.3rem 0.8rem; border-radius: 1rem; background: var(--accent); color: var(--panel); font-weight: 600; }
.gone { margin: 0; padding: 0.6rem 1rem; background: var(--panel); border-bottom: 1px solid var(--line); }
.empty { padding: 3rem 1rem; text-align: center; color: var(--quiet); }
.problem { color: var(--alarm); }
.message, .problem { overflow-wrap: anywhere; }
dialog { width: calc(100vw - 2rem); max-width: none; height: calc(100vh - 2rem); max-height: none; padding: 0; border: 1px solid var(--line); border-radius: 0.8rem; background: var(--panel); color: var(--text); overflow: hidden; }
dialog[open] { display: flex; flex-direction: column; }
dialog::backdrop { background: #000a; }
.bar { display: flex; gap: 0.4rem; align-items: center; padding: 0.5rem 0.8rem; background: var(--panel); border-bottom: 1px solid var(--line); }
.bar h2 { flex: 1; margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
.detail { flex: 1; min-height: 0; display: grid; grid-template: minmax(0, 1fr) / minmax(0, 1fr) 20rem; }
.bar h2:focus { outline: none; }
.facts .problem { display: block; }
.player { position: relative; background: var(--ground); }
.detail iframe { position: absolute; inset: 0; width: 100%; height: 100%; border: 0; }
.coming { position: absolute; inset: 0; z-index: 1; pointer-events: none; display: grid; place-items: center; }
.coming .picture { width: 100%; opacity: 0.5; }
.coming > * { grid-area: 1 / 1; }
.spinner { width: 2.5rem; height: 2.5rem; border: 4px solid var(--line); border-top-color: var(--accent); border-radius: 50%; }
@keyframes spin { to { rotate: 1turn; } }
.facts { padding: 0.8rem; border-left: 1px solid var(--line); overflow: auto; }
.acts { display: flex; flex-wrap: wrap; gap: 0.4rem; align-items: center; }
.acts span { color: var(--quiet); font-size: 0.8rem; }
.facts, .fields { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.7rem; align-content: start; }
.fields { min-width: 0; margin: 0; padding: 0; border: 0; }
.facts .field { display: grid; gap: 0.15rem; color: var(--quiet); font-size: 0.8rem; }
.facts input, .facts textarea, .facts select { width: 100%; font-size: 0.9375rem; color: var(--text); }
/* A text that becomes a field when it is pressed. */
.facts :is(input, textarea, select) { margin-left: -0.45rem; width: calc(100% + 0.9rem); padding-inline: 0.4rem; border-color: transparent; background: none; text-overflow: ellipsis; }
.facts :is(input, textarea, select):hover:enabled { border-color: var(--line); }
.facts :is(input, textarea, select):focus, .facts [aria-invalid='true'] { border-color: var(--edge); background: var(--ground); }
.facts textarea { min-height: 2.1rem; max-height: 16rem; field-sizing: content; resize: none; }
@supports not (field-sizing: content) { .facts textarea { min-height: 5rem; resize: vertical; } }
.facts dl { display: grid; grid-template-columns: auto 1fr; gap: 0.15rem 0.7rem; margin: 0; font-size: 0.85rem; }
.facts dt { color: var(--quiet); }
.facts dt::first-letter { text-transform: uppercase; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.ask { min-width: 0; margin: 0; border: 1px solid var(--alarm); border-radius: 0.5rem; padding: 0.6rem; display: grid; gap: 0.5rem; }
.ask legend { float: left; width: 100%; padding: 0; }
.ask div { clear: both; flex-wrap: wrap; display: flex; gap: 0.5rem; }
.tray { justify-self: end; width: min(24rem, 100%); max-height: 40vh; overflow: auto; background: var(--panel); border: 1px solid var(--edge); border-radius: 0.7rem; padding: 0.6rem 0.8rem; box-shadow: 0 6px 24px #0004; }
.tray summary { cursor: pointer; font-size: 0.9rem; font-weight: 600; }
.tray ul { list-style: none; margin: 0.6rem 0; padding: 0; display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.5rem; font-size: 0.85rem; }
.tray .file { display: flex; gap: 0.5rem; align-items: baseline; }
.tray .file button { min-height: 0; padding: 0 0.5rem; }
.tray .file span:first-child { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tray progress { width: 100%; height: 0.4rem; accent-color: var(--accent); }
.tray .uploaded { color: var(--good); }
.drop { position: absolute; inset: 0.7rem; display: grid; place-items: center; border: 3px dashed var(--accent); border-radius: 1rem; background: color-mix(in srgb, var(--ground) 96%, transparent); font-size: 1.2rem; pointer-events: none; z-index: 3; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
header .opener { display: none; }
@media (max-width: 78rem) { .selection .hint { display: none; } }
@media (max-width: 48rem) {
  .app { grid-template-columns: minmax(0, 1fr); }
  header .opener { display: inline-flex; }
  header input[type='search'] { order: 1; flex: 1 0 100%; }
  header .filters { order: 2; }
  .crumbs { flex-basis: 6rem; }
  .sides { display: none; border-right: 0; }
  .sides.open { display: flex; position: absolute; z-index: 4; inset: 4rem 0 0; }
  .detail { grid-template: minmax(max(14rem, 38vh), 45vh) auto / minmax(0, 1fr); overflow: auto; }
  .facts { border-left: 0; border-top: 1px solid var(--line); overflow: visible; }
  dialog { width: 100vw; height: 100vh; border-radius: 0; border: 0; }
}
@media (max-width: 36rem) {
  header .folder-button, header .copy-view, .density { display: none; }
  .crumbs > :not(:last-child), .crumbs > :last-child > :first-child:not(:last-child) { display: none; }
  .chips { flex-basis: 100%; flex-wrap: nowrap; overflow-x: auto; padding: 0.3rem; margin: -0.3rem; white-space: nowrap; }
  .chip { flex: none; }
  .chips, .subfolders { scrollbar-width: none; }
  .count { flex: 1; }
  .subfolders { flex-wrap: nowrap; padding: 0.3rem; margin: -0.3rem; }
  .float { inset-inline: 0.5rem; bottom: 0.5rem; }
  .selection { width: 100%; padding: 0.4rem; }
  .selection strong { margin-left: 0.5rem; }
  .selection .actions { order: 1; width: 100%; }
  .selection .actions > * { flex: 1; padding-inline: 0.2rem; white-space: nowrap; }
  .selection .actions .icon { display: none; }
  .selection .clear { margin-left: auto; }
}
@media (pointer: coarse) { .folder-button { display: none; } button, select, input { min-height: 2.75rem; } .mark { opacity: 1; width: 1.75rem; height: 1.75rem; } }
@media (prefers-reduced-motion: no-preference) { .mark { transition: opacity 0.1s; } .spinner { animation: spin 1s linear infinite; } }
`;

/** Style sheet of the gallery. The browser's preference selects the light or dark theme. */
export const createGalleryStyle = () => createPageFile('browse.css', css);
