import type { Setting } from '../process/config.ts';

/** The setting for the address of the page that describes the error codes. */
export function docsBaseUrl(): Setting<string | undefined> {
  return {
    default: undefined,
    kind: 'text',
    doc: 'The address of the page that describes the error codes, for instance `https://docs.example.com/errors/`. Errors then link to their code there: `#` and the code are appended. Without it errors contain no link.',
    parse(value) {
      const address = value.trim();
      const { protocol } = URL.parse(address) ?? {};
      if ((protocol !== 'https:' && protocol !== 'http:') || address.includes('#'))
        throw new Error('must be an http or https address without a fragment.');
      return address;
    },
  };
}

/** The address that describes a code; undefined if the operator hasn't set the page's address. */
export function docsOf(baseUrl: string | undefined, code: string): string | undefined {
  return baseUrl === undefined ? undefined : `${baseUrl}#${code}`;
}
