import { signal } from '@preact/signals';
import { formatCount, formatTimeOfDay, pluralize } from '../../../shared/figures.ts';
import { type FolderView, maxLinks, type PageSelection, type Query } from '../protocol.ts';
import { copyLinks, fetchUids, PageError, pick, setup } from './api.ts';
import { Button } from './controls.tsx';
import { formatViewCommand } from './copy-view.tsx';
import { useDelay } from './hooks.ts';
import type { PagedList } from './paged-list.ts';
import {
  changedList,
  clearSelection,
  isPickEnded,
  listLength,
  seenList,
  selectAll,
  selectedCount,
  selection,
  selectionNotice,
} from './selected.ts';

type SelectionBarProps = { list: PagedList; query: Query; tree: readonly FolderView[] };

/** Maximum number of uids in a command, which a person can still read and a shell takes from the clipboard. */
const maxCommandUids = 50;
/** Number of assets that one request lists, and number of requests that a selection may take without a word. */
const [listedPerRequest, quietRequests] = [100, 100];

/** How the last piece of work has ended, or that it goes on. */
const done = signal('');
const forget = () => {
  done.value = '';
};
const isWorking = signal(false);

/** Does one piece of work at a time, and shows that it works and how it has ended. */
async function work(list: PagedList, words: string, perform: () => Promise<string>): Promise<void> {
  if (isWorking.value || isPickEnded.value) return;
  isWorking.value = true;
  done.value = words;
  try {
    done.value = await perform();
  } catch (error) {
    const now = error instanceof PageError ? error.now : undefined;
    done.value = now ? describeChange(now.count) : `Not done: ${(error as Error).message}`;
    if (now) {
      changedList.value = now;
      void list.refresh(false); // so that the user sees what has come
    }
  } finally {
    isWorking.value = false;
  }
}

const describeChange = (count: number | null) =>
  `The list has changed: there ${count === 1 ? 'is' : 'are'} ${count === null ? 'others' : formatCount(count)} now. Press again to go on.`;

/** Returns what the process gets: uids, or the query of the list and the exceptions. Never indexes, since lists move. */
async function toRequest(list: PagedList, query: Query): Promise<PageSelection> {
  const { all, uids } = selection.value;
  return all ? { query, except: [...uids], seen: await seenList(list) } : { uids: [...uids] };
}

/** Says how many assets are selected, and hands them on: to the clipboard, or to the command that waits for them. */
export function SelectionBar(props: SelectionBarProps) {
  const count = selectedCount.value;
  const isResting = done.value !== '' && !isWorking.value && changedList.value === undefined;
  useDelay(isResting && !setup.pick ? 6_000 : undefined, forget, [done.value, isResting]);
  const isNothing = count === 0;
  if (isNothing && !setup.pick && !done.value && !selectionNotice.value) return null;
  if (isPickEnded.value)
    return (
      <section class="selection" aria-label="Selection">
        <span role="status">{done.value}</span>
      </section>
    );
  const total = listLength.value;
  const isPart = total !== undefined && count !== total && total > 0 && changedList.value === undefined;
  return (
    <section class="selection" aria-label="Selection" aria-busy={isWorking.value}>
      <strong role="status">{`${nameCount(count)} selected`}</strong>
      {isPart && <Button text={`Select all ${formatCount(total)}`} onClick={() => selectAll(props.list)} />}
      <span role="status">{done.value || selectionNotice.value || describeCost(count)}</span>
      {!setup.pick && <span class="hint">to change many: {setup.program} tag --pick</span>}
      <span class="actions">
        {setup.pick ? <PickActions {...props} count={count} /> : !isNothing && <CopyActions {...props} count={count} />}
      </span>
      {!isNothing && <Button class="clear" text="✕" label="Clear the selection" onClick={clearSelection} />}
    </section>
  );
}

/** Number of selected assets; undefined if it is not known. */
type ActionsProps = SelectionBarProps & { count: number | undefined };

const nameCount = (count: number | undefined) => (count === undefined ? 'all' : formatCount(count));

/** Returns the requests that handing on all of a long list takes, before anything is pressed. */
function describeCost(count = 0): string {
  const requests = Math.ceil(count / listedPerRequest) + 1;
  return selection.value.all && requests > quietRequests ? `about ${formatCount(requests)} requests to hand on` : '';
}

function PickActions({ list, query, count }: ActionsProps) {
  const end = async (selected: PageSelection | null, words: string) => {
    await pick(selected);
    isPickEnded.value = true;
    return `${words}. You can close this tab.`;
  };
  const use = async () => end(await toRequest(list, query), 'Handed to the terminal');
  return (
    <>
      <Button
        class="primary"
        text={`Use these ${nameCount(count)}`}
        disabled={count === 0}
        aria-disabled={isWorking.value}
        onClick={() => work(list, `Handing over ${nameCount(count)} …`, use)}
      />
      <Button text="Cancel" onClick={() => work(list, 'Canceling …', () => end(null, 'Canceled'))} />
    </>
  );
}

async function copyText(text: string, what: string): Promise<string> {
  await navigator.clipboard.writeText(text);
  return `${what} copied`;
}

async function copyPlaybackLinks(request: PageSelection): Promise<string> {
  const { text, count: found, until, unplayableCount } = await copyLinks(request);
  const validity = until === null ? '' : `, valid until ${formatTimeOfDay(until)},`;
  const others = unplayableCount > 0 ? `; ${pluralize(unplayableCount, 'asset')} without anything to play` : '';
  return (await copyText(text, `${pluralize(found, 'link')}${validity}`)) + others;
}

function CopyActions({ list, query, tree, count = Number.POSITIVE_INFINITY }: ActionsProps) {
  const uidsOf = async () => {
    const request = await toRequest(list, query);
    return 'uids' in request ? request.uids : fetchUids(request);
  };
  const uids = async () => {
    const all = await uidsOf();
    return copyText(all.join('\n'), pluralize(all.length, 'uid'));
  };
  const { all, uids: listed } = selection.value;
  const isListed = count <= maxCommandUids;
  const command = async () =>
    isListed
      ? copyText(`${setup.program} get ${(await uidsOf()).join(' ')}`, 'Command')
      : copyText(`${formatViewCommand('ls', query, tree)} -q --all`, 'Command for the whole list');
  const tooManyLinks = count > maxLinks && `The links of at most ${maxLinks} assets can be copied`;
  // Filters do not describe a part of a list.
  const isNoCommand = !isListed && !(all && listed.size === 0);
  const tooManyUids = isNoCommand && `A command is for at most ${maxCommandUids} assets, or for all of a list`;
  const actions = [
    ['link', 'Copy links', async () => copyPlaybackLinks(await toRequest(list, query)), tooManyLinks],
    ['copy', 'Copy uids', uids, false],
    ['command', 'Copy command', command, tooManyUids],
  ] as const;
  return (
    <>
      {actions.map(([icon, text, perform, obstacle]) => (
        <Button
          key={text}
          {...{ icon, text }}
          disabled={obstacle !== false}
          aria-disabled={isWorking.value}
          title={obstacle || undefined}
          onClick={() => work(list, `${text} …`, perform)}
        />
      ))}
    </>
  );
}
