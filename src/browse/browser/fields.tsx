import { useEffect, useId, useRef, useState } from 'preact/hooks';

/** What is said beside a field of its own change: that it is under way, done, or why it was not. */
export type Saving = { said: string; problem: string | undefined };

const unsaid: Saving = { said: '', problem: undefined };

/** @returns what is said, how to do something that is said so, and how to say nothing again */
export function useSaving(): [Saving, (work: Promise<unknown>) => Promise<void>, () => void] {
  const [saving, say] = useState(unsaid);
  const follow = async (work: Promise<unknown>) => {
    say({ said: 'saving', problem: undefined });
    await work.then(
      () => say({ said: 'saved', problem: undefined }),
      (error: Error) => say({ said: 'not saved', problem: error.message }),
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
  /** @throws Error that says why it cannot be */
  onSave(value: string): Promise<unknown>;
};

/** A text that is changed where it stands: Enter or leaving it saves, Escape takes it back. */
export function Editable({ label, value, isLong, onSave }: EditableProps) {
  const [text, setText] = useState(value);
  const [saving, follow, unsay] = useSaving();
  const sent = useRef<string | undefined>(undefined);
  const id = useId();
  useEffect(() => setText(value), [value]);
  const save = async () => {
    const next = text.trim();
    if (next === value.trim()) return setText(value);
    if (next === sent.current) return; // on its way
    sent.current = next;
    await follow(onSave(next));
    sent.current = undefined;
  };
  const field = {
    id,
    value: text,
    'aria-invalid': saving.problem !== undefined,
    'aria-describedby': saving.problem && `${id}-problem`,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) => {
      unsay();
      setText(currentTarget.value);
    },
    onBlur: save,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Enter' && (!isLong || event.ctrlKey || event.metaKey)) void save();
      else if (event.key === 'Escape' && text !== value) {
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

/** A text to take along. */
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
