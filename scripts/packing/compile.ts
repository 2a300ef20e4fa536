import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withRelativeImports } from './modules.ts';

interface Target {
  /** The oldest JavaScript version that the output must run on, by the compiler's name for it. */
  readonly language: 'es2022' | 'es2024';
  /** The libraries that the compiler assumes in addition to the language. */
  readonly library: readonly string[];
  readonly hasDeclarations: boolean;
}

/**
 * Compiles TypeScript files of the repository to JavaScript.
 * @param files paths inside the repository, with all their imports from it
 * @returns the compiled files by their paths, which are the sources' with another ending
 * @throws Error with the compiler's output
 */
export function compile(root: string, files: readonly string[], target: Target): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-compile-'));
  try {
    const compilerOptions = {
      noEmit: false,
      target: target.language,
      lib: target.library,
      rewriteRelativeImportExtensions: true,
      declaration: target.hasDeclarations,
      // A package must compile even if `npm run check` was never run. Only the SDK is checked again here, because its
      // declarations need types; the other packages are checked by `npm run check`.
      noCheck: !target.hasDeclarations,
      newLine: 'lf',
      rootDir: root,
      outDir: join(folder, 'out'),
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const project = join(folder, 'tsconfig.json');
    const absolute = files.map((file) => join(root, file));
    const extended = join(root, 'tsconfig.json');
    writeFileSync(
      project,
      JSON.stringify({ extends: extended, compilerOptions, include: [], files: absolute }),
    );
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, '-p', project], {
      encoding: 'utf8',
      timeout: 300_000,
    });
    if (status !== 0) throw new Error(`tsc ended with ${status}:\n${stdout}${stderr}`);
    const compiled = globSync('**/*.{js,d.ts}', { cwd: join(folder, 'out') }).sort();
    return new Map(
      compiled.map((path) => {
        const source = path.replace(/\.(js|d\.ts)$/, '.ts');
        return [
          path,
          withRelativeImports(root, source, readFileSync(join(folder, 'out', path), 'utf8')),
        ] as const;
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
