import type { LibraryChange, LibraryWriter } from '../../changes/writer.ts';
import type { DecidePorts } from '../decide/matcher.ts';
import type { SessionPorts } from '../session/session-ports.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';
import type { FileMover } from './file-mover.ts';
import type { Plan } from './plan.ts';

/** The writer of a run that changes assets of renamed files, and how the history describes that change. */
type FollowPorts = Pick<LibraryChange, 'command' | 'summary' | 'source'> & { writer(): Promise<LibraryWriter> };

/** What an upload run needs before it is shown: what its files are decided by, and what it changes besides them. */
export type PlanPorts = DecidePorts & {
  follow: FollowPorts;
  /** Moves each file that is uploaded and verified; undefined to leave the files where they are. */
  mover?: FileMover | undefined;
};

/**
 * The surroundings of an upload run: those of its plan, those of each session, and those of the run as a whole. A way in
 * makes it, and it is passed on whole.
 */
export type UploadPorts = PlanPorts &
  SessionPorts & {
    store: ListableUploadStore;
    /** Called with the plan before the first byte is sent. A run that queues files calls it for each batch, and at the end. */
    onPlan?: ((plan: Plan, isComplete: boolean) => Promise<void>) | undefined;
    /** Called with the uid of each asset whose upload is complete. */
    onUploaded?(assetUid: string): Promise<void>;
    /** Called when the run has ended, even if its outcomes are not read to the end. */
    onEnd?: (() => void) | undefined;
  };
