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

/** @returns the section in the URL; none for an unknown name */
export function administrationSearch({ section }: Record<string, unknown>): { section?: SectionName } {
  return typeof section === 'string' && Object.hasOwn(sectionNames, section)
    ? { section: section as SectionName }
    : {};
}
