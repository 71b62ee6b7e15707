import type { ButtonHTMLAttributes, ComponentChildren, TargetedFocusEvent, TargetedKeyboardEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type DropContents, readChosen } from './drops.ts';
import { useDelay } from './hooks.ts';
import { Icon, type IconName } from './icon.tsx';

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'label'> & {
  icon?: IconName;
  text?: ComponentChildren;
  /** Name for screen readers, if the text is a symbol. */
  label?: string;
  hasFocus?: boolean;
};

const focus = (button: HTMLButtonElement | null) => button?.focus();

export const Button = ({ icon, text, label, hasFocus, ...rest }: ButtonProps) => (
  <button type="button" aria-label={label} ref={hasFocus ? focus : null} {...rest}>
    {icon && <Icon name={icon} />}
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
      <Button
        {...(isFolder ? { icon: 'folder', class: 'folder-button' } : { icon: 'upload', class: 'primary' })}
        text={text}
        onClick={() => input.current?.click()}
      />
    </>
  );
}

/** Renders a button that shows an icon only; its name is a tooltip, and for screen readers. */
export const IconButton = (props: ButtonProps & { label: string }) => (
  <Button class="act" title={props.label} {...props} />
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
