import { useState } from 'preact/hooks';
import { formatTimeOfDay } from '../../../shared/figures.ts';
import { Button } from './controls.tsx';
import { useDelay } from './hooks.ts';
import type { PagedList } from './paged-list.ts';
import type { ServiceWait } from './uploads.ts';

/** How long a notice stays if it only confirms what the user did. */
const passingNoticeMs = 6_000;

type NoticeAction = { label: string; run(): void };

export type SetNotice = (text: string, kind?: 'lasting' | 'passing', action?: NoticeAction) => void;

/** Keeps the latest notice, until the user hides it, or for a while if it only confirms what the user did. */
export function useNotice() {
  const [shown, set] = useState<{ notice: string; kind: 'lasting' | 'passing'; action?: NoticeAction }>({
    notice: '',
    kind: 'lasting',
  });
  const { notice, kind, action } = shown;
  const setNotice: SetNotice = (text, how = 'lasting', act) =>
    set({ notice: text, kind: how, ...(act && { action: act }) });
  const hideNotice = () => setNotice('');
  useDelay(kind === 'passing' ? passingNoticeMs : undefined, hideNotice, [shown]);
  return { notice, action, setNotice, hideNotice };
}

type NoticesProps = {
  list: PagedList;
  serviceWait: ServiceWait | undefined;
  isPaused: boolean;
  notice: string;
  action: NoticeAction | undefined;
  hideNotice(): void;
};

/** Shows over the cards what has happened, and why they are not up to date. */
export function Notices({ list, serviceWait, isPaused, notice, action, hideNotice }: NoticesProps) {
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
        {notice} {action && <Button text={action.label} onClick={action.run} />}
        {notice && <Button text="✕" label="Hide the message" onClick={hideNotice} />}
      </span>
    </div>
  );
}
