// The HTML report: the page of a run with embedded data.

import { embeddedSource } from "../../timeline/sources/embedded.js";
import { open } from "../cluster/cluster.js";

const main = document.getElementById("observatory");
if (main) void open(main, embeddedSource(main));
