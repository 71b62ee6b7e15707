import { useState } from 'preact/hooks';
import { formatCount, formatTimeOfDay, pluralize } from '../../../contract/figures.ts';
import { maxLinks, type PageSelection, type Query } from '../protocol.ts';
import { copyLinks, fetchUids, pick, setup } from './api.ts';
import { Button } from './controls.tsx';
import { useDelay } from './hooks.ts';
import { clearSelection, listLength, selectAll, selectedCount, selection, selectionNotice } from './selected.ts';

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
  const copy = async (text: string, what: string) => {
    await navigator.clipboard.writeText(text);
    return `${what} copied`;
  };
  const uids = () => fetchUids(toRequest(query));
  const some = count === undefined ? 'all' : formatCount(count);
  const total = listLength.value;
  return (
    <section class="selection" aria-label="Selection">
      <strong role="status">{`${some} selected`}</strong>
      {total !== undefined && count !== total && total > 0 && (
        <Button text={`Select all ${formatCount(total)}`} onClick={selectAll} />
      )}
      <span role="status">{done || selectionNotice.value}</span>
      <span class="actions">
        {setup.pick ? (
          <>
            <button
              type="button"
              class="primary"
              disabled={isNothing}
              onClick={() =>
                track(pick(toRequest(query)).then(() => 'Handed to the terminal. You can close this tab.'))
              }
            >
              {`Use these ${some}`}
            </button>
            <Button text="Cancel" onClick={() => track(pick(null).then(() => 'Canceled. You can close this tab.'))} />
          </>
        ) : (
          !isNothing && (
            <>
              {(count ?? maxLinks + 1) <= maxLinks && (
                <Button
                  text="Copy links"
                  onClick={() =>
                    track(
                      copyLinks(toRequest(query)).then(({ text, count: links, until }) =>
                        copy(
                          text,
                          `${pluralize(links, 'link')}${until === null ? '' : `, valid until ${formatTimeOfDay(until)},`}`,
                        ),
                      ),
                    )
                  }
                />
              )}
              <Button
                text="Copy uids"
                onClick={() => track(uids().then((all) => copy(all.join('\n'), pluralize(all.length, 'uid'))))}
              />
              <Button
                text="Copy command"
                onClick={() => track(uids().then((all) => copy(`${setup.program} get ${all.join(' ')}`, 'Command')))}
              />
            </>
          )
        )}
      </span>
      {!isNothing && (
        <button type="button" class="clear" aria-label="Clear the selection" onClick={clearSelection}>
          ✕
        </button>
      )}
    </section>
  );
}
