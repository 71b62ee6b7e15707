import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import {
  type AssetFilterKind,
  type AssetFilterRow,
  filterRows,
  type orderings,
} from '../../../contract/asset-filters.ts';
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

const isSearch = ({ kind }: AssetFilterRow) => kind === 'search';

const orders: [(typeof orderings)[number] | '', string][] = [
  ['', 'newest first'],
  ['created_at', 'oldest first'],
  ['name', 'name, A to Z'],
  ['-name', 'name, Z to A'],
  ['-duration', 'longest first'],
  ['duration', 'shortest first'],
];

type FilterControl = (props: ControlProps & Pick<AssetFilterRow, 'name' | 'values'>) => ComponentChildren;

const textInput =
  (type: 'search' | 'text'): FilterControl =>
  ({ values, ...props }) => <DebouncedInput type={type} {...props} />;

const dateInput: FilterControl = ({ label, value = '', onChange }) => (
  <label class="field">
    {label}
    <input type="date" value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} />
  </label>
);

const select: FilterControl = ({ name, values = [], ...props }) => {
  const choices = values.map((value) => [value, value.replaceAll('_', ' ')] as const);
  return <Select choices={[['', `any ${props.label.toLowerCase()}`], ...choices]} {...props} />;
};

/** Controls of filters by kind. A folder is selected in the tree of folders. */
const controls: Record<AssetFilterKind, FilterControl> = {
  search: textInput('search'),
  slug: textInput('text'),
  choice: select,
  date: dateInput,
  folder: () => null,
};

export function Filters({ query, openPanel, onChange, onOpen }: FiltersProps) {
  const [clearCount, setClearCount] = useState(0);
  const set = (field: keyof Query, how: 'push' | 'replace' = 'push') => ({
    value: query[field],
    onChange: (value: string) => onChange(withField(query, field, value), how),
  });
  const control = ({ name, kind, label, values }: AssetFilterRow) => {
    const Control = controls[kind];
    // Further typing replaces the history entry, so that Back returns to the state before the search.
    const how = (kind === 'search' || kind === 'slug') && query[name] ? 'replace' : 'push';
    return <Control key={`${name} ${clearCount}`} {...{ name, label, values }} {...set(name, how)} />;
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
      {filterRows.filter(isSearch).map(control)}
      {opener('filters', `Filters${count > 0 ? ` (${count})` : ''}`)}
      {opener('folders', 'Folders')}
      <div class={`filters${openPanel === 'filters' ? ' open' : ''}`}>
        {filterRows.filter((row) => !isSearch(row)).map(control)}
        <Select label="Order" class="order" choices={orders} {...set('ordering')} />
        {count > 0 && <Button text="Clear" onClick={clear} />}
      </div>
    </>
  );
}
