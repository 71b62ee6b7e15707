import { createPageFile } from './page-files.ts';

/** Colors of every page, in a light and a dark theme. */
export const colors = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f7f7f9, #121317);
  --panel: light-dark(#ffffff, #1c1e24);
  --line: light-dark(#dfe0e6, #32353e);
  --text: light-dark(#15171c, #f0f1f4);
  --quiet: light-dark(#5b6070, #a4a9b6);
  --accent: light-dark(#4a43d6, #9d9bff);
  --chosen: light-dark(#eceafd, #2a2950);
  --alarm: light-dark(#b3261e, #ff9d94);
  --transparent: repeating-conic-gradient(#8883 0 25%, #0000 0 50%) 0 0 / 16px 16px;
}
`;

const css = `${colors}
:root[data-theme='light'] { color-scheme: light; }
:root[data-theme='dark'] { color-scheme: dark; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
:root { --tall: 80vh; }
body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
/* On a large screen, a video is as large as its height allows. */
main { max-width: max(72rem, 140vh); margin: 0 auto; padding: clamp(0.75rem, 3vw, 2rem); }
h1 { margin: 0 0 1rem; font-size: 1.25rem; line-height: 1.3; overflow-wrap: anywhere; }
.stage { display: grid; gap: 1rem; align-items: start; }
video, .frame { display: block; width: 100%; aspect-ratio: 16 / 9; border: 0; border-radius: 0.5rem; background: #000; }
video { max-height: var(--tall); }
.screen { width: 100%; min-width: min(100%, 18rem); margin-inline: auto; }
.screen:fullscreen { display: flex; flex-direction: column; padding: 0 0.5rem; background: #000; color-scheme: dark; color: var(--text); }
.screen:fullscreen video { flex: 1; min-height: 0; max-height: none; aspect-ratio: auto !important; }
.controls { display: flex; align-items: center; gap: 0.35rem; color: var(--quiet); font-size: 0.875rem; }
.controls .time { flex: 1; font-variant-numeric: tabular-nums; white-space: nowrap; }
.controls button { padding: 0.3rem; border: 0; border-radius: 0.35rem; background: none; color: inherit; cursor: pointer; }
.controls button:hover { background: var(--chosen); color: var(--text); }
.controls svg { display: block; width: 1.4rem; height: 1.4rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
.controls button.on path:nth-of-type(1):not(:only-of-type), .controls button:not(.on) path:nth-of-type(2) { display: none; }
.controls button.on path:only-of-type { stroke: var(--accent); }
.controls input { flex: 0 1 5rem; min-width: 2rem; accent-color: var(--accent); }
.framed { --tall: calc(100vh - 6.5rem); }
.framed main { display: grid; grid-template-columns: minmax(0, 1fr); align-content: center; min-height: 100vh; max-width: none; padding: 0.5rem; }
.framed h1 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.framed #note:empty { display: none; }
.framed .stage > div:has(audio) { width: min(100%, 60rem); margin-inline: auto; }
img { display: block; max-width: 100%; height: auto; border-radius: 0.5rem; }
.picture { max-height: var(--tall); width: auto; margin-inline: auto; background: var(--transparent); }
.framed main > .picture { --tall: calc(100vh - 1rem); }
div > .picture:has(~ #timeline) { max-height: 12rem; }
#timeline {
  position: relative;
  height: 2.25rem;
  margin: 0.25rem 0;
  border-radius: 0.35rem;
  background: center / 100% 100% no-repeat;
  color: var(--quiet);
  cursor: pointer;
  touch-action: pan-y;
  user-select: none;
}
#timeline.tall { height: 5rem; margin-top: 2.2rem; }
#timeline canvas { position: absolute; width: 100%; height: 100%; }
.bar, .played {
  position: absolute;
  top: calc(50% - 0.15rem);
  height: 0.3rem;
  width: 100%;
  border-radius: 0.15rem;
  background: var(--line);
}
.played { width: 0; background: var(--accent); color: var(--accent); }
.played::after {
  content: '';
  position: absolute;
  right: -0.4rem;
  top: -0.25rem;
  width: 0.8rem;
  height: 0.8rem;
  border-radius: 50%;
  background: var(--accent);
}
#timeline:is(.drawn, .pictured) :is(.bar, .played::after) { display: none; }
#timeline.drawn .played { visibility: hidden; }
#timeline.pictured .played { top: 0; height: 100%; opacity: 0.35; }
.ticks i {
  position: absolute;
  top: calc(50% - 0.4rem);
  width: 2px;
  height: 0.8rem;
  background: var(--text);
  opacity: 0.55;
}
.bubble {
  position: absolute;
  bottom: 100%;
  z-index: 1;
  max-width: 100%;
  padding: 0.3rem 0.5rem;
  border: 1px solid var(--line);
  border-radius: 0.35rem;
  background: var(--panel);
  color: var(--text);
  font-size: 0.8rem;
  text-align: center;
  overflow-wrap: anywhere;
  pointer-events: none;
}
.bubble time { font-variant-numeric: tabular-nums; }
.sprite { margin: 0 auto 0.2rem; border-radius: 0.2rem; background-repeat: no-repeat; }
@media (prefers-reduced-motion: no-preference) {
  .played::after { transition: scale 0.15s; }
  #timeline:hover .played::after { scale: 1.25; }
}
.description { max-width: 72rem; white-space: pre-line; overflow-wrap: anywhere; }
.tags { display: flex; flex-wrap: wrap; gap: 0.4rem; margin: 1rem 0; padding: 0; list-style: none; }
.tags li {
  padding: 0.1rem 0.6rem;
  border: 1px solid var(--line);
  border-radius: 1rem;
  background: var(--panel);
  font-size: 0.875rem;
  overflow-wrap: anywhere;
}
#captions { min-height: 3em; margin: 0.75rem 0; text-align: center; white-space: pre-line; }
.page { height: var(--tall); aspect-ratio: auto; background: #fff; color-scheme: light; border: 1px solid var(--line); }
.thumbnails { display: flex; flex-wrap: wrap; gap: 0.75rem; padding: 0; margin: 1rem 0; list-style: none; }
.thumbnails img { max-height: 12rem; border: 1px solid var(--line); }
nav { background: var(--panel); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.75rem; }
h2 { margin: 0 0 0.5rem 0.5rem; font-size: 0.8rem; color: var(--quiet); font-weight: 600; }
nav ol { margin: 0; padding: 0; list-style: none; max-height: 60vh; overflow-y: auto; }
nav button {
  display: flex;
  gap: 0.75rem;
  width: 100%;
  padding: 0.6rem 0.5rem;
  border: 0;
  border-radius: 0.35rem;
  background: none;
  color: inherit;
  font: inherit;
  text-align: left;
  overflow-wrap: anywhere;
  cursor: pointer;
}
nav button:hover, nav button[aria-current] { background: var(--chosen); }
nav time { flex: none; color: var(--quiet); font-variant-numeric: tabular-nums; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
nav button:focus-visible { outline-offset: -3px; }
a { color: var(--accent); }
.message, [role='alert'] {
  margin: 0 0 1rem;
  padding: 0.75rem 1rem;
  border: 1px solid var(--line);
  border-left: 4px solid var(--quiet);
  border-radius: 0.35rem;
  background: var(--panel);
}
[role='alert'] { border-left-color: var(--alarm); }
[role='status'] { color: var(--quiet); font-size: 0.875rem; }
@media (min-width: 56rem) {
  .stage:has(nav) { grid-template-columns: minmax(0, 1fr) 17rem; }
}
`;

/** Style sheet of the watch page. `data-theme` sets the theme; without it, the browser's preference applies. */
export const createWatchStyle = () => createPageFile('watch.css', css);
