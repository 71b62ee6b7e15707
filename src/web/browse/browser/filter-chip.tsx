import type { TargetedFocusEvent, TargetedKeyboardEvent } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { AssetFilterRow } from '../../../contract/asset-filters.ts';
import { Button, Select } from './controls.tsx';
import { useWindowEvent } from './hooks.ts';

type FilterChipProps = { row: AssetFilterRow; value: string | undefined; onChange(value: string): void };

type Control = HTMLInputElement | HTMLSelectElement;

const formatChoice = (value: string) => value.replaceAll('_', ' ');

/** Shows a filter and its value. Pressed, it shows the control of the filter instead, until that loses the focus. */
export function FilterChip({ row, value = '', onChange }: FilterChipProps) {
  const [isOpen, setOpen] = useState(false);
  const chip = useRef<HTMLSpanElement>(null);
  /** True if the focus was on what a key or a choice has taken away, so that it goes to the chip. */
  const returnsFocus = useRef(false);
  useLayoutEffect(() => {
    if (isOpen) openControl(chip.current?.querySelector<HTMLInputElement>('input, select'));
  }, [isOpen]);
  useLayoutEffect(() => {
    if (!isOpen && returnsFocus.current) chip.current?.querySelector('button')?.focus();
    returnsFocus.current = false;
  }, [isOpen, value]);
  const close = () => {
    returnsFocus.current = true;
    setOpen(false);
  };
  const remove = () => {
    returnsFocus.current = true;
    onChange('');
  };
  const { label, kind } = row;
  return (
    <span class={`chip${value && !isOpen ? ' set' : ''}`} ref={chip}>
      {isOpen ? (
        <FilterControl {...{ row, value, onChange }} onEnd={close} onLeave={() => setOpen(false)} />
      ) : (
        <button type="button" onClick={() => setOpen(true)}>
          {value ? (
            <>
              {label}: <b>{kind === 'choice' ? formatChoice(value) : value}</b>
            </>
          ) : (
            <>
              <span aria-hidden="true">+</span> {label}
            </>
          )}
        </button>
      )}
      {value && !isOpen && <Button text="✕" label={`Remove ${value}`} onClick={remove} />}
    </span>
  );
}

type FilterControlProps = FilterChipProps & {
  value: string;
  /** Called when a key or a choice has ended the input. */
  onEnd(): void;
  /** Called when the focus has left the control. */
  onLeave(): void;
};

function FilterControl({ row, value, onChange, onEnd, onLeave }: FilterControlProps) {
  const { label, kind, values = [] } = row;
  const id = useId();
  const leave = useLeave(onLeave);
  /** True once keys have changed a date. Each digit makes another one, so only the last is meant. */
  const isTyped = useRef(false);
  const commit = ({ value: text, validity }: Control) => {
    if (!validity.badInput && text.trim() !== value) onChange(text.trim());
  };
  const handleKey = (event: TargetedKeyboardEvent<Control>) => {
    const { key, currentTarget } = event;
    isTyped.current = true;
    if (key !== 'Enter' && key !== 'Escape') return;
    event.preventDefault(); // Enter would press the chip, which gets the focus
    if (key === 'Enter') commit(currentTarget);
    else currentTarget.value = value; // also commits nothing when the focus leaves it
    onEnd();
  };
  const handleFocusOut = ({ currentTarget }: TargetedFocusEvent<Control>) => {
    commit(currentTarget);
    leave();
  };
  const events = { onKeyDown: handleKey, onFocusOut: handleFocusOut };
  if (kind === 'choice') {
    const choices = values.map((each) => [each, formatChoice(each)] as const);
    const choose = (chosen: string) => {
      onChange(chosen);
      onEnd();
    };
    return (
      <Select
        {...{ label, value }}
        choices={[['', `Any ${label.toLowerCase()}`], ...choices]}
        onChange={choose}
        {...events}
      />
    );
  }
  // Not `value`, which would undo what is typed whenever the page is rendered.
  const input = { id, defaultValue: value, autocomplete: 'off', ...events } as const;
  return (
    <span class="field">
      <label for={id}>{label}</label>
      {kind === 'date' ? (
        <input
          type="date"
          {...input}
          onChange={({ currentTarget }) => !isTyped.current && commit(currentTarget) /* from the calendar */}
        />
      ) : (
        <input type="text" {...input} />
      )}
    </span>
  );
}

/**
 * Returns a function that calls `onLeave`: at once, or if the pointer is down, after it is up and has clicked what it is on,
 * which the closed control would move from under it.
 */
function useLeave(onLeave: () => void): () => void {
  const pointer = useRef({ isDown: false, leavesAfter: false });
  const release = () => {
    const { leavesAfter } = pointer.current;
    pointer.current = { isDown: false, leavesAfter: false };
    if (leavesAfter) setTimeout(onLeave);
  };
  useWindowEvent('pointerdown', () => {
    pointer.current.isDown = true;
  });
  useWindowEvent('pointerup', release);
  useWindowEvent('pointercancel', release);
  return () => {
    if (pointer.current.isDown) pointer.current.leavesAfter = true;
    else onLeave();
  };
}

/** Gives the focus to a control, and shows its list or calendar. */
function openControl(control: HTMLInputElement | null | undefined): void {
  control?.focus();
  control?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  try {
    if (control?.type !== 'text') control?.showPicker();
  } catch {
    // A browser that does not allow it shows the list when it is asked for.
  }
}
