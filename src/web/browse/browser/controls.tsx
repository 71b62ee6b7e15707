import type { TargetedFocusEvent, TargetedKeyboardEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type DropContents, readChosen } from './drops.ts';
import { useDelay } from './hooks.ts';
import { Icon, type IconName } from './icon.tsx';

type ButtonProps = {
  text: string;
  onClick(): void;
  /** Name for screen readers, if the text is a symbol. */
  label?: string;
  hasFocus?: boolean;
};

const focus = (button: HTMLButtonElement | null) => button?.focus();

export const Button = ({ text, onClick, label, hasFocus }: ButtonProps) => (
  <button type="button" onClick={onClick} aria-label={label} ref={hasFocus ? focus : null}>
    {text}
  </button>
);

type FileButtonProps = { text: string; isFolder?: boolean; onFiles(drop: DropContents): void };

/** Renders an upload button, which lets the user choose files or a folder without drag and drop. */
export function FileButton({ text, isFolder = false, onFiles }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        {...(isFolder && { webkitdirectory: true })}
        hidden
        onChange={({ currentTarget }) => {
          onFiles(readChosen(currentTarget.files ?? []));
          currentTarget.value = '';
        }}
      />
      <button type="button" class={isFolder ? 'folder-button' : 'primary'} onClick={() => input.current?.click()}>
        <Icon name={isFolder ? 'folder' : 'upload'} />
        {text}
      </button>
    </>
  );
}

type IconButtonProps = { icon: IconName; label: string; isPressed?: boolean; hasFocus?: boolean; onClick(): void };

/** Renders a button that shows an icon only; its name is a tooltip, and for screen readers. */
export const IconButton = ({ icon, label, isPressed, hasFocus, onClick }: IconButtonProps) => (
  <button
    type="button"
    class="act"
    title={label}
    aria-label={label}
    aria-pressed={isPressed}
    onClick={onClick}
    ref={hasFocus ? focus : null}
  >
    <Icon name={icon} />
  </button>
);

type ControlProps = { label: string; value: string | undefined; onChange(value: string): void };

type SelectProps = ControlProps & {
  choices: readonly (readonly [value: string, text: string])[];
  onKeyDown?(event: TargetedKeyboardEvent<HTMLSelectElement>): void;
  onFocusOut?(event: TargetedFocusEvent<HTMLSelectElement>): void;
};

/** Renders a select whose label only screen readers read. Adds a value that is not among the choices. */
export function Select({ label, value = '', choices, onChange, ...rest }: SelectProps) {
  const isKnown = choices.some(([each]) => each === value);
  return (
    <label class="field">
      <span class="hidden">{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} {...rest}>
        {[...choices, ...(isKnown ? [] : [[value, value]])].map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

type SearchFieldProps = ControlProps & { placeholder: string };

/** Longer than people take from letter to letter. */
const typingDebounceMs = 350;

/** Searches as the user types. Enter and the down arrow go to the first asset. */
export function SearchField({ label, placeholder, value = '', onChange }: SearchFieldProps) {
  const [text, setText] = useState(value);
  /** Text to report after the delay; an object, so that the same text starts another delay. */
  const [typed, setTyped] = useState<{ text: string }>();
  // The callback might have changed when the debounce delay ends.
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (value !== text.trim()) setText(value);
  }, [value]);
  useDelay(typed && typingDebounceMs, () => latest.current(typed?.text ?? ''), [typed]);
  return (
    <input
      type="search"
      value={text}
      aria-label={label}
      placeholder={placeholder}
      autocomplete="off"
      onInput={({ currentTarget }) => {
        setText(currentTarget.value);
        setTyped({ text: currentTarget.value.trim() });
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== 'ArrowDown') return;
        event.preventDefault();
        document.querySelector<HTMLElement>('.thing')?.focus();
      }}
    />
  );
}
