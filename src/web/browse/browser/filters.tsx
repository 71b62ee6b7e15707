import type { TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type AssetFilterRow, filterRows, type orderings } from '../../../contract/asset-filters.ts';
import type { Query } from '../protocol.ts';
import { Button, Select } from './controls.tsx';
import { withField } from './view.ts';

const orders: [(typeof orderings)[number] | '', string][] = [
  ['', 'Newest first'],
  ['created_at', 'Oldest first'],
  ['name', 'Name, A to Z'],
  ['-name', 'Name, Z to A'],
  ['-duration', 'Longest first'],
  ['duration', 'Shortest first'],
];

/** Filters that have a chip: the search has its field, and a folder its path. */
const chipRows = filterRows.filter(({ kind }) => kind !== 'search' && kind !== 'folder');

type FiltersProps = { query: Query; count: string; onChange(query: Query): void; onClear(): void };

/** Shows each filter as a chip, the number of assets that match, and their order. */
export function Filters({ query, count, onChange, onClear }: FiltersProps) {
  const set = (field: keyof Query) => (value: string) => onChange(withField(query, field, value));
  const { parent: _, ordering, ...filters } = query;
  return (
    <div class="filters">
      <fieldset class="chips">
        <legend class="hidden">Filters</legend>
        {chipRows.map((row) => (
          <FilterChip key={row.name} row={row} value={query[row.name]} onChange={set(row.name)} />
        ))}
        {Object.keys(filters).length > 0 && <Button text="Clear" onClick={onClear} />}
      </fieldset>
      <span class="count" role="status">
        {count}
      </span>
      <Select label="Order" value={ordering} choices={orders} onChange={set('ordering')} />
    </div>
  );
}

type FilterChipProps = { row: AssetFilterRow; value: string | undefined; onChange(value: string): void };

const formatValue = (value: string) => value.replaceAll('_', ' ');

/** Shows a filter and its value. Pressed, it shows the control of the filter instead, until that loses the focus. */
function FilterChip({ row, value = '', onChange }: FilterChipProps) {
  const [isOpen, setOpen] = useState(false);
  const chip = useRef<HTMLSpanElement>(null);
  /** True if the control was closed by a key or a choice, so that the focus goes back to the chip. */
  const returnsFocus = useRef(false);
  useLayoutEffect(() => {
    if (isOpen) openControl(chip.current?.querySelector<HTMLInputElement>('input, select'));
    else if (returnsFocus.current) chip.current?.querySelector('button')?.focus();
    returnsFocus.current = false;
  }, [isOpen]);
  const close = () => {
    returnsFocus.current = true;
    setOpen(false);
  };
  const { label } = row;
  return (
    <span class={`chip${value && !isOpen ? ' set' : ''}`} ref={chip}>
      {isOpen ? (
        <FilterControl {...{ row, value, onChange }} onEnd={close} onLeave={() => setOpen(false)} />
      ) : (
        <button type="button" onClick={() => setOpen(true)}>
          {value ? (
            <>
              {label}: <b>{formatValue(value)}</b>
            </>
          ) : (
            <>
              <span aria-hidden="true">+</span> {label}
            </>
          )}
        </button>
      )}
      {value && !isOpen && <Button text="✕" label={`Remove ${value}`} onClick={() => onChange('')} />}
    </span>
  );
}

type FilterControlProps = Required<FilterChipProps> & { onEnd(): void; onLeave(): void };

function FilterControl({
  row: { label, kind, values = [] },
  value = '',
  onChange,
  onEnd,
  onLeave,
}: FilterControlProps) {
  const id = useId();
  const handleKey = (event: TargetedKeyboardEvent<HTMLInputElement | HTMLSelectElement>) => {
    const { key, currentTarget } = event;
    if (key !== 'Enter' && key !== 'Escape') return;
    event.preventDefault(); // Enter would press the chip, which gets the focus
    if (key === 'Enter') onChange(currentTarget.value.trim());
    else currentTarget.value = value; // or the browser reports a change when the control is removed
    onEnd();
  };
  const events = { onKeyDown: handleKey, onFocusOut: onLeave };
  const choose = (chosen: string) => {
    onChange(chosen);
    onEnd();
  };
  const choices = [
    ['', `Any ${label.toLowerCase()}`],
    ...values.map((each) => [each, formatValue(each)] as const),
  ] as const;
  if (kind === 'choice') return <Select {...{ label, value, choices }} onChange={choose} {...events} />;
  const input = {
    id,
    value,
    autocomplete: 'off',
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => onChange(currentTarget.value.trim()),
    ...events,
  } as const;
  return (
    <span class="field">
      <label for={id}>{label}</label>
      {kind === 'date' ? <input type="date" {...input} /> : <input type="text" {...input} />}
    </span>
  );
}

/** Gives the focus to a control, and shows its list or calendar. */
function openControl(control: HTMLInputElement | null | undefined): void {
  control?.focus();
  try {
    if (control?.type !== 'text') control?.showPicker();
  } catch {
    // A browser that does not allow it shows the list when it is asked for.
  }
}
