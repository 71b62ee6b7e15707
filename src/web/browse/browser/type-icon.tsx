import { type AssetType, entryForType } from '../../../contract/asset-values.ts';

const other = 'M6 3h8l4 4v14H6z M14 3v4h4';

/** Maps asset types to the SVG path of their icon. */
const iconPaths = {
  video: 'M3 5h18v14H3z M10 9l5 3-5 3z',
  audio: 'M4 10v4 M8 7v10 M12 4v16 M16 8v8 M20 11v2',
  image: 'M3 5h18v14H3z M3 16l5-5 4 4 3-3 6 6 M15.5 9h.01',
  document: 'M6 3h8l4 4v14H6z M14 3v4h4 M9 12h6 M9 16h6',
  third_party: 'M10 4H4v16h16v-6 M14 4h6v6 M20 4l-9 9',
  generic: other,
} satisfies Record<AssetType, string>;

/** Renders the icon and name of an asset type, in place of a missing thumbnail. */
export const TypeIcon = ({ type }: { type: string }) => (
  <span class="kind">
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <path d={entryForType(iconPaths, type) ?? other} />
    </svg>
    {type.replaceAll('_', ' ')}
  </span>
);
