import { useState } from 'preact/hooks';
import { formatBytes, pluralize } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { outcomeNames, uploadOutcomes } from '../../../shared/upload-outcomes.ts';
import { isEnd, isEnded, type UploadEnd, type UploadState } from '../protocol.ts';
import { resumeUploads, setup } from './api.ts';
import { Button } from './controls.tsx';
import type { Uploads } from './uploads.ts';

const maxListedFiles = 40;

const transferLabels: Record<Exclude<UploadState['state'], UploadEnd>, string> = {
  taking: 'reading',
  sending: 'sending',
  waiting: 'waiting for the service',
};

const labelOf = (state: UploadState['state']): string =>
  isEnd(state) ? uploadOutcomes[state].summary : transferLabels[state];

export function UploadTray({ uploads, onOpen }: { uploads: Uploads; onOpen(uid: string): void }) {
  const { states, isServerDown } = uploads;
  if (states.length === 0) return null;
  const listed = [...states].sort((a, b) => sortRank(a) - sortRank(b)).slice(0, maxListedFiles);
  return (
    <aside class="tray" aria-label="Uploads">
      <details open>
        <summary>
          <span role="status">{summarize(states)}</span>
        </summary>
        <ul>
          {listed.map((each) => (
            <UploadRow key={each.id} upload={each} isStopped={isServerDown && !isEnded(each)} onOpen={onOpen} />
          ))}
        </ul>
        {states.some(isEnded) && <Button text="Clear" onClick={() => uploads.clear()} />}
      </details>
    </aside>
  );
}

type UploadRowProps = { upload: UploadState; isStopped: boolean; onOpen(uid: string): void };

function UploadRow({ upload, isStopped, onOpen }: UploadRowProps) {
  const { name, state, assetUid, problem, doneBytes, sizeBytes } = upload;
  const label = isStopped ? 'stopped' : labelOf(state);
  return (
    <li>
      <div class="file">
        <span title={name} dir="auto">
          {escapeControls(name)}
        </span>
        <span class={state === 'failed' ? 'problem' : state}>{label}</span>
        {assetUid && <Button text="Open" onClick={() => onOpen(assetUid)} />}
      </div>
      {problem && <div class="problem">{problem}</div>}
      {!isEnded(upload) && !isStopped && (
        <>
          <progress max={sizeBytes || 1} value={doneBytes} aria-label={`${name}, ${label}`} />
          {formatBytes(doneBytes)} of {formatBytes(sizeBytes)}
        </>
      )}
    </li>
  );
}

/** Returns the number of files by result: "8 files: 1 uploaded, 5 already uploaded, 1 failed, 1 remaining". */
function summarize(states: readonly UploadState[]): string {
  const files = pluralize(states.length, 'file');
  if (states.every((each) => isEnded(each) && each.state !== 'failed')) return `${files} done`;
  const counts = [...outcomeNames, undefined].flatMap((outcome) => {
    const found = states.filter(({ state }) => (isEnd(state) ? state : undefined) === outcome);
    return found.length > 0 ? `${found.length} ${outcome ? uploadOutcomes[outcome].summary : 'remaining'}` : [];
  });
  return `${files}: ${counts.join(', ')}`;
}

/** Returns the sort rank of an upload. Active uploads come first, then queued, failed and completed uploads. */
const sortRank = (upload: UploadState) =>
  isEnded(upload) ? (upload.state === 'failed' ? 2 : 3) : upload.doneBytes > 0 ? 0 : 1;

export function ServerDownAlert({ states }: { states: readonly UploadState[] }) {
  const again = `${setup.program} browse '${location.href.replaceAll("'", '%27')}'`;
  return (
    <p class="gone problem" role="alert">
      mediactl has stopped or cannot be reached. In a terminal, run: <code>{again}</code>
      {!states.every(isEnded) && (
        <>
          ; to resume the uploads: <code>{setup.program} uploads resume --all</code>
        </>
      )}
    </p>
  );
}

/** Names the uploads that an earlier process has left, which a button resumes; the events show the rest. */
export function InterruptedUploads() {
  const [isShown, setShown] = useState(true);
  const [problem, setProblem] = useState('');
  if (!isShown) return null;
  const resume = () =>
    resumeUploads().then(
      () => setShown(false),
      (error: Error) => setProblem(error.message),
    );
  return (
    <p class="gone" role="status">
      {`${pluralize(setup.interruptedCount, 'upload')} of an earlier run ${setup.interruptedCount === 1 ? 'was' : 'were'} interrupted. `}
      <Button text="Resume" onClick={() => void resume()} />{' '}
      <Button text="✕" label="Hide" onClick={() => setShown(false)} />
      {problem && <span class="problem"> {problem}</span>}
    </p>
  );
}
