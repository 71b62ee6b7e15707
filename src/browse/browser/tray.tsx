import { bytes, counted } from '../../terminal/figures.ts';
import { isEnded, type UploadState } from '../protocol.ts';
import type { Uploads } from './uploads.ts';

/** More at once nobody reads. */
const mostShown = 40;

const words: Record<UploadState['state'], string> = {
  taking: 'reading',
  sending: 'sending',
  waiting: 'waiting for the service',
  uploaded: 'uploaded',
  there: 'was there already',
  failed: 'failed',
};

/** What was dropped, and how it does. */
export function Tray({ uploads, onOpen }: { uploads: Uploads; onOpen(uid: string): void }) {
  const { states, clear } = uploads;
  if (states.length === 0) return null;
  const ended = states.filter(isEnded).length;
  const failed = states.filter(({ state }) => state === 'failed').length;
  const shown = [...states].sort((a, b) => rank(a) - rank(b)).slice(0, mostShown);
  const files = counted(states.length, 'file');
  return (
    <details class="tray" open>
      <summary>
        <span role="status">
          {ended < states.length ? `${ended} of ${files} uploaded` : `${files} done`}
          {failed > 0 && `, ${failed} failed`}
        </span>
      </summary>
      <ul>
        {shown.map((each) => (
          <li key={each.id}>
            <div class="file">
              <span title={each.name}>{each.name}</span>
              <span class={each.state === 'failed' ? 'problem' : each.state}>
                {words[each.state]}
              </span>
              {each.assetUid && (
                <button type="button" onClick={() => onOpen(each.assetUid as string)}>
                  Open
                </button>
              )}
            </div>
            {each.problem && <div class="problem">{each.problem}</div>}
            {!isEnded(each) && (
              <>
                <progress
                  max={each.sizeBytes || 1}
                  value={each.doneBytes}
                  aria-label={`${each.name}, ${words[each.state]}`}
                />
                {bytes(each.doneBytes)} of {bytes(each.sizeBytes)}
              </>
            )}
          </li>
        ))}
      </ul>
      {ended > 0 && (
        <button type="button" onClick={clear}>
          Clear
        </button>
      )}
    </details>
  );
}

/** What goes on first, then what failed. */
const rank = (upload: UploadState) =>
  isEnded(upload) ? (upload.state === 'failed' ? 2 : 3) : upload.doneBytes > 0 ? 0 : 1;
