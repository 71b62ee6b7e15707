import { describeScope, formatCount, formatTimeOfDay } from '../../../shared/figures.ts';
import type { FolderView, Query, RequestBudget } from '../protocol.ts';
import { setup } from './api.ts';
import { Button } from './controls.tsx';
import { type FolderEvents, FolderTree, findFolder, placeOf } from './folders.tsx';
import type { IconName } from './icon.tsx';
import type { PagedList } from './paged-list.ts';

type SideBarProps = FolderEvents & {
  list: PagedList;
  tree: readonly FolderView[];
  query: Query;
  budget: RequestBudget | undefined;
  /** Name of the workspace in use; undefined until it is known. */
  workspace: string | undefined;
  isSideOpen: boolean;
  /** Called with the filters of a view, which replace all others. */
  onView(filters: Query): void;
};

/** Returns the day so many days ago as YYYY-MM-DD, by the calendar of this machine. */
function dayBefore(days: number): string {
  const then = new Date();
  then.setDate(then.getDate() - days);
  const pad = (n: number) => String(n).padStart(2, '0');
  return `${then.getFullYear()}-${pad(then.getMonth() + 1)}-${pad(then.getDate())}`;
}

const createViews = (): { icon: IconName; label: string; filters: Query }[] => [
  { icon: 'library', label: 'All assets', filters: {} },
  { icon: 'recent', label: 'Last 7 days', filters: { created_after: dayBefore(6) } },
  { icon: 'processing', label: 'Processing', filters: { status: 'processing' } },
  { icon: 'failed', label: 'Failed', filters: { status: 'failed' } },
];

const isSameQuery = ({ ordering: _, ...a }: Query, b: Query) =>
  Object.keys({ ...a, ...b }).every((name) => a[name as keyof typeof a] === b[name as keyof typeof b]);

/** Names the library, and leads to its places. The places are one stop of Tab. */
export function SideBar({ list, tree, query, budget, workspace, isSideOpen, onView, ...events }: SideBarProps) {
  const views = createViews();
  const current = views.find(({ filters }) => isSameQuery(query, filters));
  const isInTree = query.parent === 'root' || findFolder(tree, query.parent) !== undefined;
  const tabStop = current ?? (isInTree ? undefined : views[0]);
  return (
    <aside class={`sides${isSideOpen ? ' open' : ''}`} aria-label="Library">
      <p class="account">
        <b>{setup.service}</b>
        <small>
          {[setup.profile, !list.scope.isAll && workspace, describeScope(list.scope)].filter(Boolean).join(' · ')}
        </small>
      </p>
      <nav aria-label="Places" onKeyDown={moveFocus}>
        <ul>
          {views.map((view) => (
            <li key={view.label}>
              <Button
                {...placeOf(view.icon, view.label, view === current)}
                tabIndex={view === tabStop ? 0 : -1}
                onClick={() => onView(view.filters)}
              />
            </li>
          ))}
        </ul>
        <h2 id="folders">Folders</h2>
        <FolderTree tree={tree} query={query} {...events} />
      </nav>
      {budget && <Budget {...budget} />}
    </aside>
  );
}

function Budget({ limit, left, resetAt }: RequestBudget) {
  const isReset = Date.now() >= resetAt;
  const remaining = isReset ? limit : Math.max(0, left);
  return (
    <p class="budget">
      <b>{formatCount(remaining)}</b> of {formatCount(limit)} requests remaining
      <meter min={0} max={limit} low={limit / 5} value={remaining} aria-label="Requests remaining" />
      {!isReset && `resets at ${formatTimeOfDay(resetAt)}`}
    </p>
  );
}

/** Moves the focus between the places with the arrow keys; left and right fold and unfold a folder. */
function moveFocus(event: KeyboardEvent): void {
  const fold = (event.target as HTMLElement).parentElement?.querySelector<HTMLElement>(':scope > .fold');
  const isExpanded = (event.target as HTMLElement).ariaExpanded === 'true';
  if (fold && event.key === (isExpanded ? 'ArrowLeft' : 'ArrowRight')) fold.click();
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.place')];
  const at = buttons.indexOf(event.target as HTMLElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  buttons[Math.min(buttons.length - 1, Math.max(0, to))]?.focus();
}
