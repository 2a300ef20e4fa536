import { list, type SettingValues } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../service/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_OUTBOUND_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Hosts (`host` or `host:port`) that may be private and be asked over http, where an identity provider or a provisioning source names them; all others are asked over https on public addresses only.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
