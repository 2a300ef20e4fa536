import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The list of licences that Vite writes, with a text for each package. A package that declares its licence without a
 * text gets the text of the MIT licence, with its author as the holder.
 * @param list sections as `## name - version (licence)`
 * @throws Error for a package that has neither a text nor the MIT licence
 */
export function withEveryText(root: string, list: string): string {
  return list
    .split(/^(?=## )/m)
    .map((section) => {
      const [, name, licence] = /^## (\S+) - \S+ \(([^)]*)\)\s*$/.exec(section.trim()) ?? [];
      if (name === undefined) return section;
      if (licence !== 'MIT') throw new Error(`${name} brings no text of its licence ${licence}`);
      return `${section.trimEnd()}\n\n${mitOf(authorOf(root, name))}\n`;
    })
    .join('');
}

function authorOf(root: string, name: string): string {
  const { author } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
  const holder = typeof author === 'string' ? author : author?.name;
  if (typeof holder !== 'string') throw new Error(`${name} names no author, whose licence it would be`);
  return holder;
}

const mitOf = (holder: string) => `MIT License

Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`;
