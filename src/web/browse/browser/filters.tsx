import { useEffect, useRef, useState } from 'preact/hooks';
import { assetStatuses, assetTypes } from '../../../contract/asset-values.ts';
import type { Query } from '../protocol.ts';
import { withField } from './view.ts';

type FiltersProps = {
  query: Query;
  isOpen: boolean;
  /** True while the folder panel is open on a small screen. */
  isFolderPanelOpen: boolean;
  onChange(query: Query, how?: 'push' | 'replace'): void;
  onOpen(which: 'filters' | 'folders'): void;
};

const textFields: readonly string[] = ['search', 'tag'];
const orders: [string, string][] = [
  ['', 'newest first'],
  ['created_at', 'oldest first'],
  ['name', 'by name'],
  ['-name', 'by name, backwards'],
  ['-duration', 'longest first'],
  ['duration', 'shortest first'],
];
/** Debounce delay of entered text. */
const typingDebounceMs = 150;

/** Renders the search field, filters and sort order. */
export function Filters({ query, isOpen, isFolderPanelOpen, onChange, onOpen }: FiltersProps) {
  const [cleared, setCleared] = useState(0);
  const set = (field: keyof Query) => (value: string) => {
    // Further typing replaces the history entry, so that Back returns to the state before the search.
    const how = query[field] && textFields.includes(field) ? 'replace' : 'push';
    onChange(withField(query, field, value), how);
  };
  const count = Object.keys(query).filter((field) => !['ordering', 'parent'].includes(field)).length;
  return (
    <>
      <DebouncedInput
        key={`search ${cleared}`}
        type="search"
        label="Search"
        name="search"
        value={query.search ?? ''}
        onChange={set('search')}
      />
      <button type="button" class="opener" aria-expanded={isOpen} onClick={() => onOpen('filters')}>
        Filters{count > 0 ? ` (${count})` : ''}
      </button>
      <button type="button" class="opener" aria-expanded={isFolderPanelOpen} onClick={() => onOpen('folders')}>
        Folders
      </button>
      <div class={`filters${isOpen ? ' open' : ''}`}>
        <FilterSelect label="Type" value={query.type} choices={assetTypes} onChange={set('type')} />
        <FilterSelect label="Status" value={query.status} choices={assetStatuses} onChange={set('status')} />
        <DebouncedInput
          key={`tag ${cleared}`}
          type="text"
          label="Tag"
          name="tag"
          value={query.tag ?? ''}
          onChange={set('tag')}
        />
        <DateInput label="Created from" value={query.created_after} onChange={set('created_after')} />
        <DateInput label="to" value={query.created_before} onChange={set('created_before')} />
        <label class="field">
          <span class="hidden">Order</span>
          <select
            class="order"
            value={query.ordering ?? ''}
            onChange={({ currentTarget }) => set('ordering')(currentTarget.value)}
          >
            {orders.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        {count > 0 && (
          <button
            type="button"
            onClick={() => {
              setCleared(cleared + 1); // also drops text whose debounce delay has not ended
              const { parent, ordering } = query;
              onChange({ ...(parent && { parent }), ...(ordering && { ordering }) });
            }}
          >
            Clear
          </button>
        )}
      </div>
    </>
  );
}

type DebouncedInputProps = {
  type: 'search' | 'text';
  label: string;
  name: string;
  value: string;
  onChange(value: string): void;
};

/** Renders a text input that reports a change after a debounce delay. */
function DebouncedInput({ type, label, name, value, onChange }: DebouncedInputProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // The callback might have changed when the debounce delay ends.
  const onChangeRef = useRef(onChange);
  onChangeRef.current = onChange;
  useEffect(() => {
    if (value !== text.trim()) setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type={type as 'text'}
      name={name}
      value={text}
      aria-label={label}
      placeholder={label}
      autocomplete="off"
      onInput={({ currentTarget }) => {
        const typed = currentTarget.value;
        setText(typed);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onChangeRef.current(typed.trim()), typingDebounceMs);
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== 'ArrowDown') return;
        event.preventDefault();
        document.querySelector<HTMLElement>('a.thing')?.focus();
      }}
    />
  );
}

type FilterSelectProps = {
  label: string;
  value: string | undefined;
  choices: readonly string[];
  onChange(value: string): void;
};

function FilterSelect({ label, value = '', choices, onChange }: FilterSelectProps) {
  const all = value && !choices.includes(value) ? [...choices, value] : choices;
  return (
    <label class="field">
      <span class="hidden">{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">any {label.toLowerCase()}</option>
        {all.map((each) => (
          <option key={each} value={each}>
            {each.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
    </label>
  );
}

type DateInputProps = { label: string; value: string | undefined; onChange(value: string): void };

const DateInput = ({ label, value = '', onChange }: DateInputProps) => (
  <label class="field">
    {label}
    <input type="date" value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
  </label>
);
