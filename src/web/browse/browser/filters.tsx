import { useState } from 'preact/hooks';
import { assetStatuses, assetTypes } from '../../../contract/asset-values.ts';
import type { Query } from '../protocol.ts';
import { Button, type ControlProps, DebouncedInput, Select } from './controls.tsx';
import { withField } from './view.ts';

/** Panel that a small screen shows on demand. */
export type Panel = 'filters' | 'folders';

type FiltersProps = {
  query: Query;
  openPanel: Panel | undefined;
  onChange(query: Query, how?: 'push' | 'replace'): void;
  onOpen(panel: Panel): void;
};

const orders: [string, string][] = [
  ['', 'newest first'],
  ['created_at', 'oldest first'],
  ['name', 'name, A to Z'],
  ['-name', 'name, Z to A'],
  ['-duration', 'longest first'],
  ['duration', 'shortest first'],
];

const choicesOf = (all: string, values: readonly string[]): [string, string][] => [
  ['', all],
  ...values.map((value): [string, string] => [value, value.replaceAll('_', ' ')]),
];

export function Filters({ query, openPanel, onChange, onOpen }: FiltersProps) {
  const [clearCount, setClearCount] = useState(0);
  const set = (field: keyof Query, how: 'push' | 'replace' = 'push') => ({
    value: query[field],
    onChange: (value: string) => onChange(withField(query, field, value), how),
  });
  const text = (field: 'search' | 'tag', type: 'search' | 'text', label: string) => {
    // Further typing replaces the history entry, so that Back returns to the state before the search.
    const control = set(field, query[field] ? 'replace' : 'push');
    return <DebouncedInput key={`${field} ${clearCount}`} type={type} label={label} name={field} {...control} />;
  };
  const { parent, ordering, ...filters } = query;
  const count = Object.keys(filters).length;
  const opener = (panel: Panel, label: string) => (
    <button type="button" class="opener" aria-expanded={openPanel === panel} onClick={() => onOpen(panel)}>
      {label}
    </button>
  );
  const clear = () => {
    setClearCount(clearCount + 1); // also drops text whose debounce delay has not ended
    onChange({ ...(parent && { parent }), ...(ordering && { ordering }) });
  };
  return (
    <>
      {text('search', 'search', 'Search')}
      {opener('filters', `Filters${count > 0 ? ` (${count})` : ''}`)}
      {opener('folders', 'Folders')}
      <div class={`filters${openPanel === 'filters' ? ' open' : ''}`}>
        <Select label="Type" choices={choicesOf('any type', assetTypes)} {...set('type')} />
        <Select label="Status" choices={choicesOf('any status', assetStatuses)} {...set('status')} />
        {text('tag', 'text', 'Tag')}
        <DateInput label="Created from" {...set('created_after')} />
        <DateInput label="to" {...set('created_before')} />
        <Select label="Order" class="order" choices={orders} {...set('ordering')} />
        {count > 0 && <Button text="Clear" onClick={clear} />}
      </div>
    </>
  );
}

const DateInput = ({ label, value = '', onChange }: ControlProps) => (
  <label class="field">
    {label}
    <input type="date" value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
  </label>
);
