import { usageError } from '../../../client/errors.ts';
import { fieldNamesFor, nameKeys } from '../../../contract/assumptions.ts';
import type { Context } from '../../context.ts';
import {
  type SettingName,
  type Setting as SettingRow,
  settingNames,
  settingTable,
} from '../../settings/setting-table.ts';
import { maskSecret } from '../../terminal/redactor.ts';

/** Row of `config ls`. */
export type ConfigRow = { key: string; value: string | null; origin: string };

/** Origin shown for a field name that is not configured. */
export const assumedOrigin = 'assumed';

/** Returns every setting with its value and origin. Keys and other secrets are masked. */
export async function listSettings(context: Context): Promise<ConfigRow[]> {
  const { name, profile } = await context.profileInUse();
  const profileOrigin = `profile ${name}`;
  const settings = settingNames.map((key): ConfigRow => {
    const { value, origin } = context.settings.resolver.resolve(key);
    if (key === 'api_key') {
      if (value !== undefined) return { key, value: maskSecret(value), origin };
      const where = profile?.keyStore === 'keychain' ? '(in the keychain)' : '(in the config file)';
      return { key, value: profile ? where : null, origin: profile ? profileOrigin : '' };
    }
    if (value === undefined && key === 'base_url' && profile)
      return { key, value: profile.baseUrl, origin: profileOrigin };
    if (value === undefined && key === 'profile' && name !== undefined)
      return { key, value: name, origin: 'current profile' };
    return { key, value: value === undefined ? null : withoutSecrets(key, value), origin };
  });
  const names = nameKeys.map((key): ConfigRow => {
    const value = profile?.names?.[key];
    return {
      key: `names.${key}`,
      value: value ?? fieldNamesFor(key).join(', '),
      origin: value === undefined ? assumedOrigin : profileOrigin,
    };
  });
  return [...settings, ...names];
}

/** Returns a setting's value with its secrets, such as a password in a URL, redacted. */
export function withoutSecrets(key: SettingName, value: string): string {
  const { kind }: SettingRow = settingTable[key];
  return kind.redact?.(value) ?? value;
}

/** Returns the setting with a key. @throws MediactlError `usage` (exit 2) if there is none */
export async function findSetting(context: Context, key: string): Promise<ConfigRow> {
  const found = (await listSettings(context)).find((setting) => setting.key === key);
  if (found) return found;
  throw usageError(`no setting is called ${key}`, 'mediactl config ls');
}
