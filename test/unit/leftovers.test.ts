import { describe, expect, it } from 'vitest';
import { leftBy, leftovers } from '../../src/shared/leftovers.ts';

/*
 * What programs leave beside media. Each rule has names that it leaves out, and one like them that it does not. A name
 * behind `beside:` is another entry of the directory.
 */

const cases: { [pattern: string]: { left: string[]; kept: string } } = {
  '.DS_Store': { left: ['.DS_Store', '.ds_store'], kept: 'DS_Store.mov' },
  '._*': { left: ['._clip.mp4'], kept: '_clip.mp4' },
  '.localized': { left: ['.localized'], kept: 'localized.srt' },
  '.Spotlight-V100': { left: ['.Spotlight-V100'], kept: 'Spotlight-V100.mov' },
  '.Trashes': { left: ['.Trashes'], kept: 'Trashes' },
  '.Trash': { left: ['.Trash'], kept: 'Trash' },
  '.fseventsd': { left: ['.fseventsd'], kept: 'fseventsd.log' },
  '.TemporaryItems': { left: ['.TemporaryItems'], kept: 'TemporaryItems' },
  '.DocumentRevisions-V100': { left: ['.DocumentRevisions-V100'], kept: 'DocumentRevisions' },
  '.AppleDouble': { left: ['.AppleDouble'], kept: 'AppleDouble.pdf' },
  '.smbdelete*': { left: ['.smbdeleteAAA5d2f01.4'], kept: 'smbdelete.txt' },
  'NAME.sb-*-*': { left: ['cut.pdf.sb-1a2b3c4d-AbCdEf'], kept: 'cut.sb-final.mov' },
  '.*.icloud': { left: ['.IMG_1.HEIC.icloud'], kept: 'tour of icloud.mov' },
  '.trashed-*-*': { left: ['.trashed-1700000000-IMG_1.jpg'], kept: '.trashed.jpg' },
  '.pending-*-*': { left: ['.pending-1700000000-VID_1.mp4'], kept: 'pending-1-2.mp4' },
  'Thumbs.db': { left: ['Thumbs.db', 'THUMBS.DB'], kept: 'Thumbs.mov' },
  'ehthumbs.db': { left: ['ehthumbs.db'], kept: 'thumbs.jpg' },
  'desktop.ini': { left: ['desktop.ini'], kept: 'desktop.mov' },
  '$RECYCLE.BIN': { left: ['$Recycle.Bin'], kept: 'RECYCLE.BIN.mov' },
  'System Volume Information': { left: ['System Volume Information'], kept: 'System Volume' },
  '~$*': { left: ['~$script.docx'], kept: '~script.docx' },
  '.~lock.*#': { left: ['.~lock.script.odt#'], kept: 'lock.odt' },
  '.Trash-*': { left: ['.Trash-1000'], kept: 'Trash-1000' },
  '.thumbnails': { left: ['.thumbnails'], kept: 'thumbnails' },
  '.directory': { left: ['.directory'], kept: 'directory.mov' },
  '.goutputstream-??????': { left: ['.goutputstream-Q1W2E3'], kept: '.goutputstream-clips.mov' },
  '@eaDir': { left: ['@eaDir'], kept: 'eaDir' },
  '#recycle': { left: ['#recycle'], kept: '#recycle.mov' },
  '#snapshot': { left: ['#snapshot'], kept: 'snapshot' },
  '.@__thumb': { left: ['.@__thumb'], kept: '__thumb' },
  '@Recycle': { left: ['@Recycle'], kept: 'Recycle' },
  '.recycle/': { left: ['.recycle/'], kept: '.recycle' },
  '.snapshot/': { left: ['.snapshot/'], kept: '.snapshot' },
  '.snapshots/': { left: ['.snapshots/'], kept: 'snapshots/' },
  '~snapshot/': { left: ['~snapshot/'], kept: '~snapshot' },
  '.zfs/': { left: ['.zfs/'], kept: '.zfs' },
  '.nfs*': { left: ['.nfs00000000012'], kept: 'nfs.mov' },
  '.fuse_hidden*': { left: ['.fuse_hidden0000'], kept: 'fuse_hidden.mov' },
  'lost+found': { left: ['lost+found/'], kept: 'lost+found.mov' },
  '.git': { left: ['.git/'], kept: '.gitignore' },
  '.svn': { left: ['.svn/'], kept: 'svn' },
  '.hg': { left: ['.hg/'], kept: 'hg' },
  '*.part': { left: ['clip.mp4.part', 'clip.part'], kept: 'spare part.mov' },
  '*.part-Frag*': { left: ['clip.mp4.part-Frag12'], kept: 'part-Frag12.mp4' },
  '*.ytdl': { left: ['clip.mp4.ytdl'], kept: 'ytdl.mp4' },
  '*.crdownload': { left: ['Unconfirmed 12.crdownload'], kept: 'crdownload.mov' },
  '*.opdownload': { left: ['clip.mp4.opdownload'], kept: 'opdownload.mov' },
  '*.partial': { left: ['clip.mp4.1a2b3c4d.partial'], kept: 'partial.mov' },
  '*.download/': { left: ['clip.mp4.download/'], kept: 'clip.download' },
  '*.aria2': { left: ['clip.mp4.aria2'], kept: 'aria2.mov' },
  '*.fdmdownload': { left: ['clip.mp4.fdmdownload'], kept: 'fdmdownload.mov' },
  '*.!qB': { left: ['clip.mp4.!qB'], kept: 'clip!qB.mp4' },
  '*.!ut': { left: ['clip.mp4.!ut'], kept: 'what!ut.mp4' },
  '*.!bt': { left: ['clip.mp4.!bt'], kept: 'clip!bt.mp4' },
  '*.bc!': { left: ['clip.mp4.bc!'], kept: 'abc!.mp4' },
  '*.filepart': { left: ['clip.mp4.filepart'], kept: 'filepart.mov' },
  '*.cyberducksegment/': { left: ['clip.mp4.cyberducksegment/'], kept: 'clip.cyberducksegment' },
  '*.lftp-pget-status': { left: ['clip.mp4.lftp-pget-status'], kept: 'lftp-pget-status.txt' },
  '.pureftpd-upload.*': { left: ['.pureftpd-upload.5f3a.15.1a2b.4c5d'], kept: 'pureftpd-upload.mov' },
  '.in.*.': { left: ['.in.clip.mp4.'], kept: '.in.clip.mp4' },
  '.NAME.??????': {
    left: ['.clip.mp4.Ab3dEf', '.a clip.v2.MOV.x9Yz01', 'beside:clip .clip.Ab3dEf'],
    kept: '.clip.Ab3dEf',
  },
  '.~tmp~/': { left: ['.~tmp~/'], kept: '~tmp' },
  '.rsync-partial/': { left: ['.rsync-partial/'], kept: 'rsync-partial' },
  'NAME.tmp': { left: ['clip.mov.tmp', 'beside:clip clip.tmp'], kept: 'clip.tmp' },
  '.stversions': { left: ['.stversions/'], kept: 'stversions' },
  '.stfolder': { left: ['.stfolder/'], kept: 'stfolder' },
  '.syncthing.*.tmp': { left: ['.syncthing.clip.mp4.tmp'], kept: 'syncthing.mp4' },
  '~syncthing~*.tmp': { left: ['~syncthing~clip.mp4.tmp'], kept: '~syncthing~.mp4' },
  '*.!sync': { left: ['clip.mp4.!sync'], kept: 'lip!sync.mp4' },
  '.sync/': { left: ['.sync/'], kept: '.sync' },
  '.dropbox': { left: ['.dropbox'], kept: 'dropbox' },
  '.dropbox.attr': { left: ['.dropbox.attr'], kept: 'dropbox.attr.mov' },
  '.dropbox.cache': { left: ['.dropbox.cache/'], kept: 'cache' },
  '.owncloudsync.log': { left: ['.owncloudsync.log'], kept: 'owncloudsync.mov' },
  '.nextcloudsync.log': { left: ['.nextcloudsync.log'], kept: 'nextcloudsync.mov' },
  '.sync_*.db': { left: ['.sync_5f1a.db'], kept: 'sync_5f1a.db' },
  '.sync_*.db-*': { left: ['.sync_5f1a.db-wal'], kept: 'sync_5f1a.db-wal' },
  '.NAME.~*': { left: ['.clip.mp4.~1a2b3c'], kept: '.clip.~1a2b3c' },
  'NAME.nextcloud': { left: ['clip.mp4.nextcloud'], kept: 'why nextcloud' },
  'NAME.owncloud': { left: ['clip.mp4.owncloud'], kept: 'clip.owncloud' },
  '.tmp.drivedownload': { left: ['.tmp.drivedownload/'], kept: 'tmp.drivedownload.mov' },
  '.tmp.driveupload': { left: ['.tmp.driveupload/'], kept: 'driveupload' },
  '*.gdoc': { left: ['script.gdoc'], kept: 'gdoc.pdf' },
  '*.gsheet': { left: ['shots.gsheet'], kept: 'gsheet.pdf' },
  '*.gslides': { left: ['pitch.gslides'], kept: 'gslides.pdf' },
  '*.gdraw': { left: ['plan.gdraw'], kept: 'gdraw.png' },
  '*.gform': { left: ['form.gform'], kept: 'gform.png' },
  '*.gmap': { left: ['places.gmap'], kept: 'gmap.png' },
  '*.gsite': { left: ['site.gsite'], kept: 'gsite.png' },
  '*.gjam': { left: ['board.gjam'], kept: 'gjam.png' },
};

/** Returns who left an entry of these cases, whose name ends with a slash if it is a directory. */
function leftByOf(entry: string): string | undefined {
  const [, beside, name = ''] = /^(?:beside:(\S+) )?(.*)$/.exec(entry) ?? [];
  return leftBy(name.replace(/\/$/, ''), name.endsWith('/'), (other) => other === beside);
}

it.each(leftovers.map(({ pattern, from }) => [pattern, from]))(
  '%s, which %s leave, is left out, and a name like it is not',
  (pattern, from) => {
    const { left, kept } = cases[pattern] ?? { left: [], kept: '' };
    expect([left.map(leftByOf), leftByOf(kept)]).toEqual([left.map(() => from), undefined]);
    expect(left).not.toEqual([]);
  },
);

describe('names of media', () => {
  it.each([
    ...['clip.mp4', '.hidden.mp4', '.clip.mp4', 'part 1.mov', '2026-11-29 10.20.30.jpg', '.env', 'IMG_0001.HEIC'],
    ...['a.partner', 'tmp', 'clip.v2.final.mov', '.clip.mp4.backup copy', 'download', '~', '.', 'name.trashed-1-2'],
  ])('%s is not left out', (name) => {
    expect([leftBy(name, false), leftBy(name, true)]).toEqual([undefined, undefined]);
  });
});
