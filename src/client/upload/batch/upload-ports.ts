import type { LibraryChange, LibraryWriter } from '../../changes/writer.ts';
import type { DecidePorts } from '../decide/matcher.ts';
import type { SessionPorts } from '../session/session-ports.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';
import type { FileMover } from './file-mover.ts';
import type { Plan } from './plan.ts';

/** The writer of a run that changes assets of renamed files, and how the history describes that change. */
export type FollowPorts = Pick<LibraryChange, 'command' | 'summary' | 'source'> & { writer(): Promise<LibraryWriter> };

/**
 * The surroundings of an upload run: those of decisions, those of each session, and those of the run as a whole. A way in
 * makes it, and it is passed on whole.
 */
export type UploadPorts = DecidePorts &
  SessionPorts & {
    store: ListableUploadStore;
    follow: FollowPorts;
    /** Moves each file that is uploaded and verified; undefined to leave the files where they are. */
    mover?: FileMover | undefined;
    /** True in a watch, which looks at moved files, and whose log names the earlier asset of a changed file. */
    isWatch?: boolean | undefined;
    /** Called with the plan before the first byte is sent. A run that queues files calls it for each batch, and at the end. */
    onPlan?(plan: Plan, isComplete: boolean): Promise<void>;
    /** Called with the uid of each asset whose upload is complete. */
    onUploaded?(assetUid: string): Promise<void>;
    /** Called once a file that was to be sent needs no lane any more: it was sent, or has failed. */
    onSent?: (() => void) | undefined;
    /** Called when the run has ended, even if its outcomes are not read to the end. */
    onEnd?: (() => void) | undefined;
  };
