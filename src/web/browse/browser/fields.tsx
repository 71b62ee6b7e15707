import { useId, useRef, useState } from 'preact/hooks';

/** Save status shown beside a field; `problem` is the error message if saving failed. */
export type SaveState = { message: string; problem: string | undefined };

const initialSaveState: SaveState = { message: '', problem: undefined };

/**
 * Promise that resolves once no mouse button is down. Messages wait for it, because they would shift the layout
 * below the pointer.
 */
let released = Promise.resolve();
let release = () => {};
const press = () => {
  released = new Promise((resolve) => {
    release = () => setTimeout(resolve);
  });
};
addEventListener('pointerdown', press, true);
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => release(), true);

/**
 * Tracks the save status of a field.
 * @returns the status, a function that tracks a promise, and a function that resets the status
 */
export function useSaveState(): [SaveState, (work: Promise<unknown>) => Promise<void>, () => void] {
  const [saveState, setSaveState] = useState(initialSaveState);
  const track = async (work: Promise<unknown>) => {
    const show = (message: string, problem?: string) => released.then(() => setSaveState({ message, problem }));
    void show('saving');
    await work.then(
      () => show('saved'),
      (error: Error) => show('not saved', error.message),
    );
  };
  return [saveState, track, () => setSaveState(initialSaveState)];
}

export const SaveStatus = ({ id, saving: { message, problem } }: { id: string; saving: SaveState }) => (
  <>
    <span role="status">{message && `· ${message}`}</span>
    {problem && (
      <span role="alert" id={`${id}-problem`} class="problem">
        {problem}
      </span>
    )}
  </>
);

type EditableProps = {
  label: string;
  value: string;
  isMultiline?: boolean;
  /**
   * Saves the text, and updates `value` to what the service stored.
   * @param before the value when the edit began; others might have changed it since
   * @throws Error with the reason if the text was not saved
   */
  onSave(text: string, before: string): Promise<unknown>;
};

/**
 * Renders a text field that is edited in place. Enter or blur saves the text; Escape reverts it. A value that is
 * refreshed meanwhile does not replace typed text.
 */
export function EditableField({ label, value, isMultiline, onSave }: EditableProps) {
  const [typed, setTyped] = useState<string>();
  const text = typed ?? value;
  const before = useRef(value);
  if (typed === undefined) before.current = value;
  const [saving, follow, resetSaveState] = useSaveState();
  /** Value that is being saved or was rejected, so that blur does not send it again. */
  const pendingValue = useRef<string | undefined>(undefined);
  const id = useId();
  const save = async () => {
    const next = text.trim();
    if (next === before.current.trim()) return setTyped(undefined);
    if (next === pendingValue.current) return;
    pendingValue.current = next;
    const saved = onSave(next, before.current).then(() => {
      pendingValue.current = undefined;
      setTyped((typed) => (typed?.trim() === next ? undefined : typed));
    });
    await follow(saved);
  };
  const edit = (next: string | undefined) => {
    resetSaveState();
    pendingValue.current = undefined;
    setTyped(next);
  };
  const handleKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (!isMultiline || event.ctrlKey || event.metaKey)) {
      if (saving.problem) pendingValue.current = undefined; // an explicit retry
      void save();
    } else if (event.key === 'Escape' && text !== value) {
      event.stopPropagation();
      event.preventDefault();
      edit(undefined);
    }
  };
  const field = {
    ...{ id, value: text, onBlur: save, onKeyDown: handleKey },
    dir: 'auto' as const,
    'aria-invalid': saving.problem !== undefined,
    'aria-describedby': saving.problem && `${id}-problem`,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => edit(currentTarget.value),
  };
  return (
    <div class="field">
      <span>
        <label for={id}>{label}</label> <SaveStatus id={id} saving={saving} />
      </span>
      {isMultiline ? <textarea {...field} /> : <input type="text" {...field} />}
    </div>
  );
}
