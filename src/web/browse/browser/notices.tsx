import { useState } from 'preact/hooks';
import { formatTimeOfDay } from '../../../contract/figures.ts';
import { Button } from './controls.tsx';
import { useDelay } from './hooks.ts';
import type { PagedList } from './paged-list.ts';
import type { ServiceWait } from './uploads.ts';

/** How long a notice stays if it only confirms what the user did. */
const passingNoticeMs = 6_000;

/** Keeps the latest notice, until the user hides it, or for a while if it only confirms what the user did. */
export function useNotice() {
  const [{ notice, kind }, set] = useState<{ notice: string; kind: 'lasting' | 'passing' }>({
    notice: '',
    kind: 'lasting',
  });
  const setNotice = (text: string, how: typeof kind = 'lasting') => set({ notice: text, kind: how });
  const hideNotice = () => setNotice('');
  useDelay(kind === 'passing' ? passingNoticeMs : undefined, hideNotice, [notice, kind]);
  return { notice, setNotice, hideNotice };
}

type NoticesProps = {
  list: PagedList;
  serviceWait: ServiceWait | undefined;
  isPaused: boolean;
  notice: string;
  hideNotice(): void;
};

/** Shows over the cards what has happened, and why they are not up to date. */
export function Notices({ list, serviceWait, isPaused, notice, hideNotice }: NoticesProps) {
  const { length, problem } = list;
  return (
    <div class="notices">
      {isPaused && <span class="notice">Auto-refresh is paused to save requests.</span>}
      {serviceWait && serviceWait.until > Date.now() && length !== undefined && (
        <span class="notice problem">{`${serviceWait.why}: waiting until ${formatTimeOfDay(serviceWait.until)}`}</span>
      )}
      {problem && length !== undefined && (
        <span role="alert" class="notice problem">
          {[problem.message, problem.hint].filter(Boolean).join('; ')}{' '}
          <Button text="Try again" onClick={() => list.retry()} />
        </span>
      )}
      <span role="status" class={notice && 'notice'}>
        {notice} {notice && <Button text="✕" label="Hide the message" onClick={hideNotice} />}
      </span>
    </div>
  );
}
