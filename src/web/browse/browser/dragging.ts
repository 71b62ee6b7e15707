import { uidPattern } from '../protocol.ts';

/** Of this page alone: what other pages drag here is no asset. */
const format = 'application/x-mediactl-asset';

export function drag({ dataTransfer }: DragEvent, uid: string): void {
  dataTransfer?.setData(format, uid);
  if (dataTransfer) dataTransfer.effectAllowed = 'move';
}

const uid = new RegExp(`^${uidPattern}$`);

/** The asset that is dropped; undefined where it is something else. */
export function draggedUid(transfer: DataTransfer): string | undefined {
  const dragged = transfer.getData(format);
  return uid.test(dragged) ? dragged : undefined;
}
