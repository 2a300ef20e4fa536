/** Section names by their value in the URL. */
export const sectionNames = {
  tokens: 'Tokens',
  'service-accounts': 'Service accounts',
  providers: 'Identity providers',
  directories: 'Directories',
  groups: 'Groups',
  roles: 'Roles',
  audit: 'Audit log',
  keys: 'Signing keys',
} as const;

export type SectionName = keyof typeof sectionNames;

export interface AdministrationSearch {
  readonly section?: SectionName;
  /** The key of the identity provider whose test has just returned to the console. */
  readonly tested?: string;
}

/** Parses the URL; unknown parameters are dropped. */
export function administrationSearch({ section, tested }: Record<string, unknown>): AdministrationSearch {
  return {
    ...(typeof section === 'string' &&
      Object.hasOwn(sectionNames, section) && { section: section as SectionName }),
    ...(typeof tested === 'string' && tested !== '' && { tested: tested.slice(0, 63) }),
  };
}
