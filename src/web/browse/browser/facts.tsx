import { useId } from 'preact/hooks';
import { formatBytes } from '../../../contract/figures.ts';
import { formatClockTime } from '../../shared/clock-time.ts';
import type { Card, FolderView } from '../protocol.ts';
import { SaveStatus, useSaveState } from './fields.tsx';
import { flattenTree } from './tree.ts';

/** Renders the read-only properties of an asset. */
export function Facts({ card }: { card: Card }) {
  const { status, reason, type, duration, size, createdAt } = card;
  const facts: [string, string | null][] = [
    ['status', reason ? `${status}: ${reason}` : status],
    ['type', type.replaceAll('_', ' ')],
    ['length', duration ? formatClockTime(duration) : null],
    ['size', size ? formatBytes(size) : null],
    ['created', createdAt?.replace('T', ' ').replace(/\.\d+Z$/, ' UTC') ?? null],
  ];
  return (
    <dl>
      {facts.map(
        ([name, value]) =>
          value && (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ),
      )}
    </dl>
  );
}

type FolderChoiceProps = {
  card: Card;
  tree: readonly FolderView[];
  onMove(folder: FolderView | null): Promise<unknown>;
};

/** Renders a folder select, which moves an asset without drag and drop. */
export function FolderChoice({ card, tree, onMove }: FolderChoiceProps) {
  const all = flattenTree(tree);
  const id = useId();
  const [saving, follow] = useSaveState();
  const isKnown = card.folder === null || all.some(({ uid }) => uid === card.folder);
  return (
    <div class="field">
      <span>
        <label for={id}>Folder</label> <SaveStatus id={id} saving={saving} />
      </span>
      <select
        id={id}
        value={card.folder ?? ''}
        onChange={({ currentTarget }) =>
          void follow(onMove(all.find(({ uid }) => uid === currentTarget.value) ?? null))
        }
      >
        {!isKnown && <option value={card.folder ?? ''}>{card.folder ?? 'not told'}</option>}
        {(isKnown || card.folder) && <option value="">/</option>}
        {all.map(({ uid, path }) => (
          <option key={uid} value={uid}>
            {path}
          </option>
        ))}
      </select>
    </div>
  );
}
