// Builds the console's web application into a folder: node build.main.ts FOLDER
import react from '@vitejs/plugin-react';
import { build } from 'vite';
import { webFolder } from './build.ts';

const [outDir] = process.argv.slice(2);
if (outDir === undefined) throw new Error('usage: node build.main.ts FOLDER');
await build({
  root: webFolder,
  configFile: false,
  logLevel: 'warn',
  plugins: [react()],
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // The licences of bundled third-party code, required for redistribution.
    license: { fileName: 'licenses.md' },
    // A style or an image in a data URL would need an exception in the content security policy.
    assetsInlineLimit: 0,
  },
});
