import { expect, it } from 'vitest';
import { makeJpeg } from '../support/pictures.ts';
import { Pty } from '../support/pty.ts';
import { mediactlCommand } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { numberedUid, sendBytes, startThumbnailService } from '../support/thumbnail-service.ts';

/** Start of each graphics protocol: the built program must include the decoders and encoders. */
const begins = {
  kitty: '\u001b_Ga=T,f=100,q=2,c=40,r=11,m=',
  iterm: '\u001b]1337;File=inline=1;size=',
  blocks: '\u001b[38;2;',
};

it.each(Object.entries(begins))(
  'the built program shows a picture on a real terminal: %s',
  { tags: 'script' },
  async (protocol, beginning) => {
    const { url } = await startThumbnailService([{ uid: numberedUid(1) }], sendBytes(makeJpeg(320, 180), 'image/jpeg'));
    const command = [...mediactlCommand, 'assets', 'thumb', numberedUid(1), '--show'];
    const home = temporaryFolder();
    const pty = new Pty(command, {
      TERM: 'xterm-256color',
      COLORTERM: 'truecolor',
      MEDIACTL_PICTURES: protocol,
      MEDIACTL_API_KEY: 'a-key-of-this-test',
      MEDIACTL_BASE_URL: url,
      MEDIACTL_CONFIG_DIR: `${home}/config`,
      MEDIACTL_STATE_DIR: `${home}/state`,
    });
    expect([await pty.exited, pty.output.slice(0, beginning.length)]).toEqual([0, beginning]);
  },
);
