import { formatBytes, pluralize } from '../../../contract/figures.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { isEnded, type UploadState } from '../protocol.ts';
import { setup } from './api.ts';
import type { Uploads } from './uploads.ts';

/** Maximum number of listed files. */
const maxListedFiles = 40;

const stateLabels: Record<UploadState['state'], string> = {
  taking: 'reading',
  sending: 'sending',
  waiting: 'waiting for the service',
  uploaded: 'uploaded',
  there: 'was there already',
  failed: 'failed',
};

/** Renders the panel of dropped files with their upload progress. */
export function UploadTray({ uploads, onOpen }: { uploads: Uploads; onOpen(uid: string): void }) {
  const { states, clear, isServerDown } = uploads;
  if (states.length === 0) return null;
  const hasEnded = states.some(isEnded);
  const listed = [...states].sort((a, b) => sortRank(a) - sortRank(b)).slice(0, maxListedFiles);
  return (
    <details class="tray" open>
      <summary>
        <span role="status">{summarize(states)}</span>
      </summary>
      <ul>
        {listed.map((each) => (
          <li key={each.id}>
            <div class="file">
              <span title={each.name} dir="auto">
                {escapeControls(each.name)}
              </span>
              <span class={each.state === 'failed' ? 'problem' : each.state}>
                {isServerDown && !isEnded(each) ? 'stopped' : stateLabels[each.state]}
              </span>
              {each.assetUid && (
                <button type="button" onClick={() => onOpen(each.assetUid as string)}>
                  Open
                </button>
              )}
            </div>
            {each.problem && <div class="problem">{each.problem}</div>}
            {!isEnded(each) && !isServerDown && (
              <>
                <progress
                  max={each.sizeBytes || 1}
                  value={each.doneBytes}
                  aria-label={`${each.name}, ${stateLabels[each.state]}`}
                />
                {formatBytes(each.doneBytes)} of {formatBytes(each.sizeBytes)}
              </>
            )}
          </li>
        ))}
      </ul>
      {hasEnded && (
        <button type="button" onClick={clear}>
          Clear
        </button>
      )}
    </details>
  );
}

const groups = { uploaded: 'uploaded', there: 'there already', failed: 'failed', open: 'to go' };

/** Returns the number of files by result: "8 files: 1 uploaded, 5 there already, 1 failed, 1 to go". */
function summarize(states: readonly UploadState[]): string {
  const files = pluralize(states.length, 'file');
  if (states.every((each) => isEnded(each) && each.state !== 'failed')) return `${files} done`;
  const found: string[] = states.map((each) => (isEnded(each) ? each.state : 'open'));
  const counts = Object.entries(groups).flatMap(([group, name]) =>
    found.includes(group) ? `${found.filter((each) => each === group).length} ${name}` : [],
  );
  return `${files}: ${counts.join(', ')}`;
}

/** Renders an alert that the serving process is down, with the commands that restart it and resume uploads. */
export function ServerDownAlert({ states }: { states: readonly UploadState[] }) {
  const isSandbox = setup.service === location.host;
  const again = `mediactl browse '${location.href.replaceAll("'", '%27')}'`;
  return (
    <p class="gone problem" role="alert">
      mediactl has ended, or cannot be reached. In a terminal:{' '}
      <code>{isSandbox ? 'mediactl sandbox start' : again}</code>
      {!isSandbox && states.some((each) => !isEnded(each)) && (
        <>
          ; for the files under way: <code>mediactl uploads resume --all</code>
        </>
      )}
    </p>
  );
}

/** Returns the sort rank of an upload. Active uploads come first, then queued, failed and completed uploads. */
const sortRank = (upload: UploadState) =>
  isEnded(upload) ? (upload.state === 'failed' ? 2 : 3) : upload.doneBytes > 0 ? 0 : 1;
