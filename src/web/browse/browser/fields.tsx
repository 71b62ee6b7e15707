import { useId, useRef, useState } from 'preact/hooks';
import { parseTags, type SlugEdit, slugRule, suggestSlugs } from '../../../contract/slug.ts';
import { formatBytes, formatClockTime } from '../../../shared/figures.ts';
import type { Card, FolderView } from '../protocol.ts';
import type { AssetEdit } from '../server/backend.ts';
import { PageError } from './api.ts';
import { typeName } from './asset-card.tsx';
import { Button } from './controls.tsx';
import { flattenTree } from './folders.tsx';

/** @property present value that the field has now, if others have changed it */
type SaveState = { message: string; problem: string | undefined; present?: string | undefined };

const initialSaveState: SaveState = { message: '', problem: undefined };

/** Resolves once no mouse button is down. Messages wait for it, because they would shift the layout below the pointer. */
let released = Promise.resolve();
let release = () => {};
const press = () => {
  released = new Promise((resolve) => {
    release = () => setTimeout(resolve);
  });
};
addEventListener('pointerdown', press, true);
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => release(), true);

/** Returns the save status of a field, a function that tracks a promise, and a function that resets the status. */
function useSaveState(): [SaveState, (work: Promise<unknown>) => Promise<void>, () => void] {
  const [saveState, setSaveState] = useState(initialSaveState);
  const track = async (work: Promise<unknown>) => {
    const show = (message: string, error?: Error) =>
      released.then(() =>
        setSaveState({
          message,
          problem: error?.message,
          present: error instanceof PageError ? error.present : undefined,
        }),
      );
    void show('saving');
    await work.then(
      () => show('saved'),
      (error: Error) => show('not saved', error),
    );
  };
  return [saveState, track, () => setSaveState(initialSaveState)];
}

type FieldLabelProps = { id: string; label: string; saving: SaveState };

const FieldLabel = ({ id, label, saving: { message, problem } }: FieldLabelProps) => (
  <span>
    <label for={id}>{label}</label> <span role="status">{message && `· ${message}`}</span>
    {problem && (
      <span role="alert" id={`${id}-problem`} class="problem">
        {problem}
      </span>
    )}
  </span>
);

type EditableProps = {
  label: string;
  value: string;
  isMultiline?: boolean;
  /** Saves the text, and updates `value`, which had been `before` when the edit began. @throws Error with the reason */
  onSave(text: string, before: string): Promise<unknown>;
  /** Reads the asset again, since others have changed the field. */
  onConflict?(): void;
};

/** Renders a text that becomes a field when it is pressed. Enter or blur saves; Escape reverts. */
function EditableField({ label, value, isMultiline, onSave, onConflict }: EditableProps) {
  const id = useId();
  const { text, saving, edit, save, keepMine } = useEdit(value, onSave);
  const takeTheirs = () => {
    edit(undefined);
    onConflict?.();
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (!isMultiline || event.ctrlKey || event.metaKey)) {
      void save(saving.problem !== undefined);
    } else if (event.key === 'Escape' && text !== value) {
      event.stopPropagation();
      event.preventDefault();
      edit(undefined);
    }
  };
  const field = {
    ...{ id, value: text, onBlur: () => save(), onKeyDown: handleKey },
    dir: 'auto' as const,
    placeholder: 'none',
    'aria-invalid': saving.problem !== undefined,
    'aria-describedby': saving.problem && `${id}-problem`,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => edit(currentTarget.value),
  };
  return (
    <div class="field">
      <FieldLabel id={id} label={label} saving={saving} />
      {isMultiline ? <textarea {...field} /> : <input type="text" {...field} />}
      {saving.present !== undefined && (
        <span class="ask">
          <q dir="auto">{saving.present}</q>
          <Button text="Keep mine" onClick={keepMine} />
          <Button text="Take theirs" onClick={takeTheirs} />
        </span>
      )}
    </div>
  );
}

/** Keeps what is typed in a field until it is saved. A value refreshed meanwhile does not replace it. */
function useEdit(value: string, onSave: EditableProps['onSave']) {
  const [typed, setTyped] = useState<string>();
  const before = useRef(value);
  if (typed === undefined) before.current = value;
  const text = typed ?? value;
  const [saving, follow, resetSaveState] = useSaveState();
  /** Value that is being saved or was rejected, so that blur does not send it again. */
  const pendingValue = useRef<string | undefined>(undefined);
  const edit = (next: string | undefined) => {
    resetSaveState();
    pendingValue.current = undefined;
    setTyped(next);
  };
  /** @param isRetry true to send a value again that was rejected */
  const save = async (isRetry = false) => {
    const next = text.trim();
    if (isRetry) pendingValue.current = undefined;
    if (next === before.current.trim()) return edit(undefined);
    if (next === pendingValue.current) return;
    pendingValue.current = next;
    const saved = onSave(next, before.current).then(() => {
      pendingValue.current = undefined;
      setTyped((typed) => (typed?.trim() === next ? undefined : typed));
    });
    await follow(saved);
  };
  /** Saves over what others have written, now that the user has seen it. */
  const keepMine = () => {
    before.current = saving.present ?? before.current;
    void save(true);
  };
  return { text, saving, edit, save, keepMine };
}

type TextFieldsProps = {
  card: Card;
  onSave(fields: AssetEdit): Promise<unknown>;
  /** Reads the asset again. */
  onReload(): void;
};

export function TextFields({ card, onSave, onReload }: TextFieldsProps) {
  const saveName = async (name: string, before: string) => {
    if (!name) throw new Error('the name cannot be empty');
    await onSave({ name, from: { name: before } });
  };
  const saveTags = async (text: string, before: string) => onSave({ tags: parseTagEdit(before, text) });
  const tags = (card.tags ?? []).join(', ');
  return (
    <>
      <EditableField label="Name" value={card.name} onSave={saveName} onConflict={onReload} />
      <EditableField
        label="Description"
        value={card.description}
        isMultiline
        onSave={(description, before) => onSave({ description, from: { description: before } })}
        onConflict={onReload}
      />
      <EditableField label="Tags, separated by commas" value={tags} onSave={saveTags} />
    </>
  );
}

const splitTags = (text: string) => (parseTags([text]) ?? []).filter(Boolean);

/** Returns the tags to add and to remove. @throws Error for an invalid tag */
function parseTagEdit(textBefore: string, text: string): SlugEdit {
  const before = splitTags(textBefore);
  const typed = splitTags(text);
  const after = typed.map((tag) => (before.includes(tag) ? tag : (suggestSlugs([tag])?.[0] ?? '')));
  const refused = typed.filter((_, at) => !after[at]);
  if (refused.length > 0) throw new Error(`${refused.join(', ')}: ${slugRule}`);
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
      <FieldLabel id={id} label="Folder" saving={saving} />
      <select id={id} value={folder ?? ''} onChange={({ currentTarget }) => move(currentTarget.value)}>
        {!isKnown && <option value={folder ?? ''}>{folder ?? 'unknown'}</option>}
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

/** Formats a time by the clock of this machine, on one line. */
const formatTime = (iso: string) =>
  new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function Facts({ card }: { card: Card }) {
  const { status, reason, type, duration, size, createdAt } = card;
  const facts: [string, string | null][] = [
    ['status', reason ? `${status}: ${reason}` : status],
    ['type', typeName(type)],
    ['duration', duration ? formatClockTime(duration) : null],
    ['size', size ? formatBytes(size) : null],
    ['created', createdAt && formatTime(createdAt)],
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
