import { useId } from 'preact/hooks';
import { formatBytes, formatClockTime } from '../../../contract/figures.ts';
import { type SlugEdit, toSlug } from '../../../contract/slug.ts';
import type { Card, FolderView } from '../protocol.ts';
import type { updateCard } from './api.ts';
import { typeName } from './asset-card.tsx';
import { EditableField, SaveStatus, useSaveState } from './fields.tsx';
import { flattenTree } from './folders.tsx';

type TextFieldsProps = { card: Card; onSave(fields: Parameters<typeof updateCard>[1]): Promise<unknown> };

/** Renders the editable properties of an asset. */
export function TextFields({ card, onSave }: TextFieldsProps) {
  const saveName = async (name: string) => {
    if (!name) throw new Error('a name is not empty');
    await onSave({ name });
  };
  const saveTags = async (text: string, before: string) => onSave({ tags: parseTagEdit(before, text) });
  const tags = (card.tags ?? []).join(', ');
  return (
    <>
      <EditableField label="Name" value={card.name} onSave={saveName} />
      <EditableField
        label="Description"
        value={card.description}
        isMultiline
        onSave={(description) => onSave({ description })}
      />
      <EditableField label="Tags, with commas between" value={tags} onSave={saveTags} />
    </>
  );
}

const splitTags = (text: string) => text.split(',').flatMap((tag) => tag.trim() || []);

/**
 * Compares the entered tags with those before the edit, and returns the tags to add and to remove.
 * @throws Error for an invalid tag
 */
function parseTagEdit(textBefore: string, text: string): SlugEdit {
  const before = splitTags(textBefore);
  const typed = splitTags(text);
  const after = typed.map((tag) => (before.includes(tag) ? tag : (toSlug(tag) ?? '')));
  const refused = typed.filter((_, at) => !after[at]);
  if (refused.length > 0) throw new Error(`${refused.join(', ')}: a tag has letters from a to z, digits and hyphens`);
  const add = after.filter((tag) => !before.includes(tag));
  return { add, remove: before.filter((tag) => !after.includes(tag)) };
}

type FolderChoiceProps = {
  card: Card;
  tree: readonly FolderView[];
  onMove(folder: FolderView | null): Promise<unknown>;
};

/** Renders a folder select, which moves an asset without drag and drop. */
export function FolderChoice({ card: { folder }, tree, onMove }: FolderChoiceProps) {
  const all = flattenTree(tree);
  const id = useId();
  const [saving, follow] = useSaveState();
  const isKnown = folder === null || all.some(({ uid }) => uid === folder);
  const move = (uid: string) => void follow(onMove(all.find((each) => each.uid === uid) ?? null));
  return (
    <div class="field">
      <span>
        <label for={id}>Folder</label> <SaveStatus id={id} saving={saving} />
      </span>
      <select id={id} value={folder ?? ''} onChange={({ currentTarget }) => move(currentTarget.value)}>
        {!isKnown && <option value={folder ?? ''}>{folder ?? 'not told'}</option>}
        {(isKnown || folder) && <option value="">/</option>}
        {all.map(({ uid, path }) => (
          <option key={uid} value={uid}>
            {path}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Renders the read-only properties of an asset. */
export function Facts({ card }: { card: Card }) {
  const { status, reason, type, duration, size, createdAt } = card;
  const facts: [string, string | null][] = [
    ['status', reason ? `${status}: ${reason}` : status],
    ['type', typeName(type)],
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
