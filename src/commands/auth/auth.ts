import type { Define } from '../command.ts';
import { list } from './list.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { rename } from './rename.ts';
import { status } from './status.ts';
import { switchProfile } from './switch.ts';
import { token } from './token.ts';

export const auth: Define = (noun, run) => {
  login(noun.command('login'), run);
  list(noun.command('ls'), run);
  status(noun.command('status'), run);
  switchProfile(noun.command('switch'), run);
  rename(noun.command('rename'), run);
  logout(noun.command('logout'), run);
  token(noun.command('token'), run);
};
