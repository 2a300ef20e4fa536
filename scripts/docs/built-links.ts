import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface BuiltPage {
  readonly ids: ReadonlySet<string>;
  readonly targets: readonly string[];
}

/**
 * Checks the links of a built site: each must point to a file of the site, and each fragment to
 * an element. @returns one line per dead link
 */
export function findDeadBuiltLinks(folder: string): string[] {
  const files = new Set(globSync('**/*', { cwd: folder }));
  const pages = new Map(
    [...files].filter((file) => file.endsWith('.html')).map((file) => [file, readPage(join(folder, file))]),
  );
  if (pages.size === 0) return [`${folder} holds no pages`];
  return [...pages].flatMap(([file, { targets }]) =>
    targets.flatMap((target) => {
      const { pathname, hash } = new URL(target, `http://site/${file.replace(/index\.html$/, '')}`);
      const path = decodeURIComponent(pathname.slice(1));
      const found = [path, join(path, 'index.html')].find((one) => files.has(one) && /\.\w+$/.test(one));
      if (found === undefined) return [`${file}: ${target} leads to no file`];
      const fragment = decodeURIComponent(hash.slice(1));
      const isFound = fragment === '' || pages.get(found)?.ids.has(fragment) !== false;
      return isFound ? [] : [`${file}: ${target} leads to no element of ${found}`];
    }),
  );
}

function readPage(path: string): BuiltPage {
  // Code is shown, not followed; elements that a script builds are not in the page yet.
  const html = readFileSync(path, 'utf8').replaceAll(/<script\b[\s\S]*?<\/script>|<!--[\s\S]*?-->/g, '');
  const attributes = (name: string) =>
    [...html.matchAll(new RegExp(`<[a-z][^<>]*?\\s(?:${name})="([^"]*)"`, 'g'))].map(([, value = '']) =>
      unescaped(value),
    );
  return {
    ids: new Set(attributes('id')),
    targets: [...new Set(attributes('href|src'))].filter(
      (target) => !/^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(target),
    ),
  };
}

const unescaped = (value: string) =>
  value
    .replaceAll('&#38;', '&')
    .replaceAll('&#x26;', '&')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
