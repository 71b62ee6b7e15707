import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** Save status beside a field: in progress, saved, or the error. */
export type Saving = { said: string; problem: string | undefined };

const unsaid: Saving = { said: '', problem: undefined };

/** Delays messages while a mouse button is down: they would shift the layout below the pointer. */
let released = Promise.resolve();
let release = () => {};
const press = () => {
  released = new Promise((resolve) => {
    release = () => setTimeout(resolve);
  });
};
addEventListener('pointerdown', press, true);
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => release(), true);

/** Tracks the save status of a field. @returns the status, a function that tracks a promise, and one that resets */
export function useSaving(): [Saving, (work: Promise<unknown>) => Promise<void>, () => void] {
  const [saving, say] = useState(unsaid);
  const follow = async (work: Promise<unknown>) => {
    const show = (said: string, problem?: string) => released.then(() => say({ said, problem }));
    void show('saving');
    await work.then(
      () => show('saved'),
      (error: Error) => show('not saved', error.message),
    );
  };
  return [saving, follow, () => say(unsaid)];
}

export const Said = ({ id, saving: { said, problem } }: { id: string; saving: Saving }) => (
  <>
    <span role="status">{said && `· ${said}`}</span>
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
  isLong?: boolean;
  /** Saves the value. @returns the value as the service stored it. @throws Error with the reason */
  onSave(value: string): Promise<string>;
};

/** Text field edited in place: Enter or blur saves, Escape reverts. */
export function Editable({ label, value, isLong, onSave }: EditableProps) {
  const [text, setText] = useState(value);
  const [saving, follow, unsay] = useSaving();
  /** Value being saved or rejected: blur does not send it again. */
  const sent = useRef<string | undefined>(undefined);
  const id = useId();
  useEffect(() => setText(value), [value]);
  const save = async () => {
    const next = text.trim();
    if (next === value.trim()) return setText(value);
    if (next === sent.current) return;
    sent.current = next;
    const saved = onSave(next).then((now) => {
      sent.current = undefined;
      setText((text) => (text.trim() === next ? now : text));
    });
    await follow(saved);
  };
  const field = {
    id,
    dir: 'auto' as const,
    value: text,
    'aria-invalid': saving.problem !== undefined,
    'aria-describedby': saving.problem && `${id}-problem`,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
      unsay();
      sent.current = undefined;
      setText(currentTarget.value);
    },
    onBlur: save,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Enter' && (!isLong || event.ctrlKey || event.metaKey)) {
        if (saving.problem) sent.current = undefined; // an explicit retry
        void save();
      } else if (event.key === 'Escape' && text !== value) {
        event.stopPropagation();
        event.preventDefault();
        unsay();
        setText(value);
      }
    },
  };
  return (
    <div class="field">
      <span>
        <label for={id}>{label}</label> <Said id={id} saving={saving} />
      </span>
      {isLong ? <textarea {...field} /> : <input type="text" {...field} />}
    </div>
  );
}

/** Read-only text with a copy button. */
export function Copy({ label, text }: { label: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <div class="command">
      <input
        type="text"
        readOnly
        value={text}
        aria-label={label}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
      <button
        type="button"
        aria-label={`Copy ${label}`}
        onClick={() =>
          navigator.clipboard.writeText(text).then(
            () => setCopied(true),
            () => setCopied(false),
          )
        }
      >
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
