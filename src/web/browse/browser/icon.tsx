/** Icons of the page: strokes of a square of 24. */
const paths = {
  library: 'M4 4h7v7H4z M13 4h7v7h-7z M4 13h7v7H4z M13 13h7v7h-7z',
  recent: 'M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18 M12 7v5l3 2',
  processing: 'M12 3a9 9 0 1 0 9 9',
  failed: 'M12 4l9 16H3z M12 10v4 M12 17v.01',
  folder: 'M3 6h6l2 2h10v11H3z',
  menu: 'M4 7h16 M4 12h16 M4 17h16',
  link: 'M9 15l6-6 M10 7l2-2a4 4 0 0 1 6 6l-2 2 M14 17l-2 2a4 4 0 0 1-6-6l2-2',
  upload: 'M12 16V4 M7 9l5-5l5 5 M4 20h16',
  video: 'M3 5h18v14H3z M10 9l5 3-5 3z',
  audio: 'M4 10v4 M8 7v10 M12 4v16 M16 8v8 M20 11v2',
  image: 'M3 5h18v14H3z M3 16l5-5 4 4 3-3 6 6 M15.5 9h.01',
  document: 'M6 3h8l4 4v14H6z M14 3v4h4 M9 12h6 M9 16h6',
  third_party: 'M10 4H4v16h16v-6 M14 4h6v6 M20 4l-9 9',
  generic: 'M6 3h8l4 4v14H6z M14 3v4h4',
  download: 'M12 4v12 M7 11l5 5l5-5 M4 20h16',
  copy: 'M8 8h12v12H8z M16 8V4H4v12h4',
  command: 'M4 6l5 6l-5 6 M12 18h8',
  trash: 'M4 7h16 M9 7V4h6v3 M6 7l1 13h10l1-13',
  fold: 'M9 6l6 6l-6 6',
  large: 'M4 4h16v16H4z',
  medium: 'M4 4h16v16H4z M12 4v16 M4 12h16',
  small: 'M4 4h16v16H4z M9.3 4v16 M14.7 4v16 M4 9.3h16 M4 14.7h16',
};

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
