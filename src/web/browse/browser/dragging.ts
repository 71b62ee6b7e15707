import { uidPattern } from '../protocol.ts';

/** Private drag data type, so that data dragged from other web pages is not mistaken for an asset. */
const dragDataType = 'application/x-mediactl-asset';

export function startDrag({ dataTransfer }: DragEvent, uid: string): void {
  dataTransfer?.setData(dragDataType, uid);
  if (dataTransfer) dataTransfer.effectAllowed = 'move';
}

const uid = new RegExp(`^${uidPattern}$`);

/** Returns the uid of a dropped asset; undefined for other data. */
export function draggedUid(transfer: DataTransfer): string | undefined {
  const dragged = transfer.getData(dragDataType);
  return uid.test(dragged) ? dragged : undefined;
}
