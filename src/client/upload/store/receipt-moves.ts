import type { StateDatabase } from '../../state/state-database.ts';
import type { ReceiptKey } from '../sources/upload-file.ts';

/** A receipt whose file was renamed. */
export type MovedReceipt = {
  from: ReceiptKey & { assetUid: string };
  /** Undefined values stay. */
  to: {
    /** Uid of the folder of the asset; empty for the top level. */
    folder?: string | undefined;
    realPath: string;
    mtimeNs: string;
    ctimeNs: string | null;
    /** Name of the asset. */
    name?: string | undefined;
  };
};

/**
 * Moves receipts to the new paths of their files within a change of the database. First all of them leave their paths,
 * since files may have swapped their names. A receipt that another process has moved meanwhile stays. The receipt of
 * another asset at the new path becomes `replaced` if this machine uploaded that asset; otherwise it is deleted. So a
 * receipt that was replaced while its file was elsewhere is valid again.
 *
 * The old versions of a file (`replaced`) move with its receipt, so that they are kept as long as that is not ready.
 */
export function moveReceipts(database: StateDatabase, moved: readonly MovedReceipt[]): void {
  const leave = `UPDATE uploads SET state = 'done', path = ? WHERE seq = (SELECT seq FROM uploads
    WHERE service = ? AND workspace = ? AND path = ? AND asset = ? AND state IN ('done', 'replaced')
    ORDER BY state, seq DESC LIMIT 1)`;
  // If the path has a receipt, which is that of a newer file, the old versions stay with it.
  const leaveToo = `UPDATE uploads SET path = ? WHERE service = ? AND workspace = ? AND path = ? AND state = 'replaced'
    AND NOT EXISTS (SELECT 1 FROM uploads AS other WHERE other.service = uploads.service
      AND other.workspace = uploads.workspace AND other.folder = uploads.folder AND other.path = uploads.path
      AND other.state = 'done')`;
  const replace = `UPDATE uploads SET state = 'replaced' WHERE service = ? AND workspace = ? AND path = ? AND asset <> ?
    AND folder = (SELECT coalesce(?, folder) FROM uploads WHERE service = ? AND path = ? AND state = 'done')
    AND state = 'done' AND imported = 0`;
  const arriveToo = `UPDATE uploads SET path = ?, folder = coalesce(?, folder)
    WHERE service = ? AND workspace = ? AND path = ? AND state = 'replaced'`;
  const arrive = `UPDATE OR REPLACE uploads SET path = ?, folder = coalesce(?, folder), source_version = ?, ctime_ns = ?,
    name = coalesce(?, name) WHERE service = ? AND workspace = ? AND path = ? AND state = 'done'`;
  const left = moved.map((each, at) => ({ ...each, placeholder: `moving ${at}` })); // no path of a file is like that
  const leaving = left.filter(({ placeholder, from }) => {
    const { service, workspace, realPath, assetUid } = from;
    return database.run(leave, placeholder, service, workspace, realPath, assetUid) > 0;
  });
  for (const { placeholder, from } of leaving)
    database.run(leaveToo, placeholder, from.service, from.workspace, from.realPath);
  for (const { placeholder, from, to } of leaving) {
    const { service, workspace, assetUid } = from;
    const { realPath, folder = null, name = null } = to;
    database.run(replace, service, workspace, realPath, assetUid, folder, service, placeholder);
    database.run(arriveToo, realPath, folder, service, workspace, placeholder);
    const values = [realPath, folder, to.mtimeNs, to.ctimeNs, name];
    database.run(arrive, ...values, service, workspace, placeholder);
  }
}
