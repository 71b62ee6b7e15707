import { useState } from 'preact/hooks';
import { formatCount, formatTimeOfDay, pluralize } from '../../../contract/figures.ts';
import { maxLinks, type PageSelection, type Query } from '../protocol.ts';
import { copyLinks, fetchUids, pick, setup } from './api.ts';
import { Button } from './controls.tsx';
import { useDelay } from './hooks.ts';
import {
  clearSelection,
  isPickEnded,
  listLength,
  selectAll,
  selectedCount,
  selection,
  selectionNotice,
} from './selected.ts';

type SelectionBarProps = { query: Query };

/** Returns what the process gets: uids, or the query of the list and the exceptions. Never indexes, since lists move. */
function toRequest(query: Query): PageSelection {
  const { all, uids } = selection.value;
  return all ? { query, except: [...uids] } : { uids: [...uids] };
}

/** Says how many assets are selected, and hands them on: to the clipboard, or to the command that waits for them. */
export function SelectionBar({ query }: SelectionBarProps) {
  const count = selectedCount.value;
  const [done, setDone] = useState('');
  useDelay(done && !setup.pick ? 6_000 : undefined, () => setDone(''), [done]);
  const isNothing = count === 0;
  if (isNothing && !setup.pick && !done && !selectionNotice.value) return null;
  const track = (work: Promise<string>) =>
    void work.then(setDone, (error: Error) => setDone(`Not done: ${error.message}`));
  const total = listLength.value;
  const actions = { query, count, track };
  if (isPickEnded.value)
    return (
      <section class="selection" aria-label="Selection">
        <span role="status">{done}</span>
      </section>
    );
  return (
    <section class="selection" aria-label="Selection">
      <strong role="status">{`${nameCount(count)} selected`}</strong>
      {total !== undefined && count !== total && total > 0 && (
        <Button text={`Select all ${formatCount(total)}`} onClick={selectAll} />
      )}
      <span role="status">{done || selectionNotice.value}</span>
      <span class="actions">
        {setup.pick ? <PickActions {...actions} /> : !isNothing && <CopyActions {...actions} />}
      </span>
      {!isNothing && (
        <button type="button" class="clear" aria-label="Clear the selection" onClick={clearSelection}>
          ✕
        </button>
      )}
    </section>
  );
}

type ActionsProps = SelectionBarProps & {
  /** Number of selected assets; undefined if it is not known. */
  count: number | undefined;
  /** Shows how a piece of work has ended. */
  track(work: Promise<string>): void;
};

const nameCount = (count: number | undefined) => (count === undefined ? 'all' : formatCount(count));

function PickActions({ query, count, track }: ActionsProps) {
  const end = async (selected: PageSelection | null, words: string) => {
    await pick(selected);
    isPickEnded.value = true;
    return `${words}. You can close this tab.`;
  };
  return (
    <>
      <button
        type="button"
        class="primary"
        disabled={count === 0}
        onClick={() => track(end(toRequest(query), 'Handed to the terminal'))}
      >
        {`Use these ${nameCount(count)}`}
      </button>
      <Button text="Cancel" onClick={() => track(end(null, 'Canceled'))} />
    </>
  );
}

function CopyActions({ query, count = Number.POSITIVE_INFINITY, track }: ActionsProps) {
  const copy = async (text: string, what: string) => {
    await navigator.clipboard.writeText(text);
    return `${what} copied`;
  };
  const links = async () => {
    const { text, count: found, until, unplayableCount } = await copyLinks(toRequest(query));
    const validity = until === null ? '' : `, valid until ${formatTimeOfDay(until)},`;
    const others = unplayableCount > 0 ? `; ${pluralize(unplayableCount, 'asset')} without anything to play` : '';
    return (await copy(text, `${pluralize(found, 'link')}${validity}`)) + others;
  };
  const uids = async () => {
    const all = await fetchUids(toRequest(query));
    return copy(all.join('\n'), pluralize(all.length, 'uid'));
  };
  const command = async () => copy(`${setup.program} get ${(await fetchUids(toRequest(query))).join(' ')}`, 'Command');
  const isTooMany = count > maxLinks;
  return (
    <>
      <button
        type="button"
        disabled={isTooMany}
        title={isTooMany ? `The links of at most ${maxLinks} assets can be copied` : undefined}
        onClick={() => track(links())}
      >
        Copy links
      </button>
      <Button text="Copy uids" onClick={() => track(uids())} />
      <Button text="Copy command" onClick={() => track(command())} />
    </>
  );
}
