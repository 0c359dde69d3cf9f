// A run in a file of its own: the page of a run, whose data the file has.

import { embeddedSource } from "../../timeline/sources/embedded.js";
import { open } from "../cluster/cluster.js";

const main = document.getElementById("observatory");
if (main) void open(main, embeddedSource(main));
