/** Names of the sections, by what stands in the address. */
export const sectionNames = {
  principals: 'People and agents',
  roles: 'Roles',
  tokens: 'Tokens',
  'service-accounts': 'Service accounts',
  providers: 'Identity providers',
  directories: 'Directories',
  groups: 'Groups',
  audit: 'Audit record',
  keys: 'Signing keys',
} as const;

export type SectionName = keyof typeof sectionNames;

/** @returns the section of an address; the first one for an unknown name */
export function administrationSearch({ section }: Record<string, unknown>): { section?: SectionName } {
  return typeof section === 'string' && Object.hasOwn(sectionNames, section)
    ? { section: section as SectionName }
    : {};
}
