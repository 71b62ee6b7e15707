import { useRef } from 'preact/hooks';
import { filterRows, type orderings } from '../../../contract/asset-filters.ts';
import type { Query } from '../protocol.ts';
import { Button, Select } from './controls.tsx';
import { DensityChoice } from './density.tsx';
import { FilterChip } from './filter-chip.tsx';
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
  const chips = useRef<HTMLFieldSetElement>(null);
  const clear = () => {
    onClear();
    chips.current?.querySelector('button')?.focus(); // this button goes away
  };
  return (
    <div class="filters">
      <fieldset class="chips" ref={chips}>
        <legend class="hidden">Filters</legend>
        {chipRows.map((row) => (
          <FilterChip key={row.name} row={row} value={query[row.name]} onChange={set(row.name)} />
        ))}
        {Object.keys(filters).length > 0 && <Button text="Clear" onClick={clear} />}
      </fieldset>
      <span class="count" role="status">
        {count}
      </span>
      <Select label="Order" value={ordering} choices={orders} onChange={set('ordering')} />
      <DensityChoice />
    </div>
  );
}
